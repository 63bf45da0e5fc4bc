"""Data parallelism: each rank has the whole model and a part of the batch, and gradients are
averaged, so that every replica takes the step that one big batch would have taken.

First the plain way, one all-reduce a parameter after backward (`average_gradients`); then the way
of torch's DistributedDataParallel, buckets reduced while backward still runs (`DataParallel`).
Source: Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training"
(2020), sections 3.2 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from helpers.lessons.data_parallel.algorithms.bucket import MIB, Bucket, assign_buckets
from helpers.lessons.messages.algorithms.collectives import (
    all_reduce_ring,
    all_reduce_shared,
    broadcast_tree,
    chunk_bounds,
)

if TYPE_CHECKING:
    from helpers.engine.comm import Comm, Request


def shard_bounds(rows: int, rank: int, size: int) -> tuple[int, int]:
    """The rows of rank `rank` of `size`: from ⌊rank·rows/size⌋ up to ⌊(rank+1)·rows/size⌋.

    Shards differ by one row at most; together they are all rows, each once.
    Example: shard_bounds(5, 1, 2) is (2, 5).
    """
    if not 0 <= rank < size:
        raise ValueError(f"There is no rank {rank} among {size} ranks.")
    return chunk_bounds(rows, size)[rank]


def shard(rows: int, rank: int, size: int, epoch: int) -> Tensor:
    """The numbers of the rows that rank `rank` of `size` works on in an epoch.

    rows: of the whole data set. They are permuted by a generator of this call's own, seeded with
    the epoch, so that every rank draws the same order and no random state is touched; then cut by
    `shard_bounds`. Returns: (its rows,), int64. Raises ValueError where there is no such rank.
    Source: torch's DistributedSampler, which pads the shards to one length, as this does not.
    Example: shard(20, 0, 3, epoch=0) has 6 numbers, the other two ranks 7 each.
    """
    start, stop = shard_bounds(rows, rank, size)
    return torch.randperm(rows, generator=torch.Generator().manual_seed(epoch))[start:stop]


def rows_of(tensor: Tensor, rank: int, size: int) -> Tensor:
    """This rank's rows of a batch, as a view. tensor: (rows, …). Returns: (its rows, …)."""
    start, stop = shard_bounds(len(tensor), rank, size)
    return tensor[start:stop]


def broadcast_parameters(model: nn.Module, comm: Comm) -> None:
    """Give every rank rank 0's parameters and buffers, so that all replicas start equal."""
    for tensor in [*model.parameters(), *model.buffers()]:
        _broadcast(tensor, comm)


def _broadcast(tensor: Tensor, comm: Comm) -> None:
    if tensor.is_contiguous():
        broadcast_tree(comm, tensor)
        return
    for dim, stride in enumerate(tensor.stride()):
        if stride == 0:  # expanded: all along this dimension are the same memory
            tensor = tensor.narrow(dim, 0, 1)
    tensor.detach().copy_(broadcast_tree(comm, tensor.detach().contiguous()))


def average_gradients(
    comm: Comm,
    model: nn.Module,
    rows: float,
    total: int,
    reduce: Callable[[Comm, Tensor], Any] = all_reduce_ring,
) -> None:
    """Average every gradient over the ranks after backward, one all-reduce a parameter.

    rows, total: this rank's rows, and those of all ranks. This rank counts for rows / total: with
    uneven shards a rank with more rows counts for more. 1 and N make the ranks count alike.
    reduce: a function (comm, tensor) that sums in place.
    A parameter without a gradient counts as zero here, because the others wait for this rank.
    """
    weight = rows / total
    for parameter in model.parameters():
        if not parameter.requires_grad:
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter, memory_format=torch.contiguous_format)
        parameter.grad = parameter.grad.contiguous().mul_(weight)
        reduce(comm, parameter.grad)


class DataParallel:
    """A model whose gradients are averaged over the ranks while backward runs.

        replica = DataParallel(model, comm)
        loss = loss_function(replica(inputs), targets)
        loss.backward()                 # a bucket is reduced as soon as it is full
        replica.finish()                # waits; every .grad is now the average
        optimizer.step()

    Parameters are taken in reverse order, because backward comes to the last layer first, and put
    into buckets. A hook copies each gradient, times `weight`, into its bucket as it is made; the
    bucket that is full is summed over the ranks on the communication thread. Afterwards each
    `.grad` is a view of its bucket, so nothing is copied back. Buckets start in the same order on
    every rank, or the ranks would add unlike things.

    reduce: a function (comm, tensor) that sums in place, run on the communication thread. One that
        has `take_buckets` is told the buckets, so that it knows what lies in each tensor.
    start: instead of reduce, a function of the flat bucket that starts a framework's own
        asynchronous sum and returns what to `wait()` for, such as
        `lambda bucket: torch.distributed.all_reduce(bucket, async_op=True)`.
    bucket_bytes, first_bucket_bytes: a bucket is closed once it holds so much. The first one is
        small, so that the first sum starts early (25 MiB and 1 MiB, as in torch).

    A parameter that has no gradient on a rank counts as zero there. Every rank gets rank 0's
    buffers (batch norm's means) before each forward.

    weight: what this rank's gradients are multiplied by before they are summed, 1/N at first. For
        uneven shards and losses that are means over rows, set it to rows_here / rows_of_all
        before backward; for losses that are sums over rows divided by all rows, set it to 1.
    """

    def __init__(
        self,
        model: nn.Module,
        comm: Comm,
        reduce: Callable[..., Any] = all_reduce_ring,
        *,
        start: Callable[[Tensor], Request] | None = None,
        bucket_bytes: int = 25 * MIB,
        first_bucket_bytes: int = 1 * MIB,
    ) -> None:
        self.model = model
        self.comm = comm
        self.weight = 1 / comm.size
        self._reduce, self._start = reduce, start
        self._shared = reduce is all_reduce_shared  # it is given the buffers of all ranks
        self._syncing = True
        self._next = 0  # the bucket that starts next
        self._requests: list[Request] = []
        self._payloads: list[Any] = []  # what each bucket's sum is given
        broadcast_parameters(model, comm)
        self._synced = False
        parameters = [p for p in reversed(list(model.parameters())) if p.requires_grad]
        self.buckets = [
            Bucket(group, self._allocate(sum(p.numel() for p in group), group[0]))
            for group in assign_buckets(parameters, bucket_bytes, first_bucket_bytes)
        ]
        if hasattr(reduce, "take_buckets"):
            reduce.take_buckets(self.buckets)
        self._hooks = [
            parameter.register_post_accumulate_grad_hook(self._hook(bucket))
            for bucket in self.buckets
            for parameter in bucket.views
        ]

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Run the model forward. Raises RuntimeError where the last backward is unfinished."""
        if any(bucket.arrived for bucket in self.buckets):
            raise RuntimeError(
                "The last backward's gradients are not averaged yet: call finish() after "
                "backward() and before the next forward."
            )
        if self._syncing:
            self._sync_buffers()
            self._synced = self._synced or torch.is_grad_enabled()
        return self.model(*inputs, **options)

    def _sync_buffers(self) -> None:
        """Give every rank rank 0's buffers, as they are now: a forward may have put in new ones."""
        for buffer in self.model.buffers():
            _broadcast(buffer, self.comm)

    def finish(self) -> None:
        """Wait until every gradient is averaged. Every rank calls it once after backward.

        A rank that had no rows calls it without forward and backward: its gradients count as zero.
        Where a step has several backwards, all but the last belong into `no_sync()`: what an
        earlier finish() has summed would be weighted and summed again.
        Raises RuntimeError inside `no_sync()`, and where a parameter has been made trainable since
        wrapping, so that it is in no bucket.
        """
        if not self._syncing:
            raise RuntimeError(
                "finish() inside no_sync() would average what is still being accumulated: "
                "call it outside, after the last backward."
            )
        self._check_buckets()
        if not self._synced:  # no forward here, but on the others: take part in theirs
            self._sync_buffers()
        self._synced = False
        missing = {p for bucket in self.buckets for p in bucket.fill(self.weight)}
        self._start_full_buckets()
        for request in self._requests:
            request.wait()
        self._settle(missing)

    def _check_buckets(self) -> None:
        known = {parameter for bucket in self.buckets for parameter in bucket.views}
        for name, parameter in self.model.named_parameters():
            if parameter.requires_grad and parameter not in known:
                raise RuntimeError(
                    f"{name} was made trainable after the model was wrapped, so that nobody "
                    "averages its gradient: call detach(), and wrap the model again."
                )

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients on this rank alone; the next backward outside sums them all.

        With k backwards to an update, divide each loss by k, as without ranks.
        """
        before, self._syncing = self._syncing, False
        try:
            yield
        finally:
            self._syncing = before

    def detach(self) -> nn.Module:
        """Take the hooks off and return the model, an ordinary one again."""
        for hook in self._hooks:
            hook.remove()
        return self.model

    def _allocate(self, length: int, like: Tensor) -> Tensor:
        """A flat buffer of this rank; remembers what the sum is to be given for it."""
        if not self._shared:
            flat = like.new_zeros(length, requires_grad=False)
            self._payloads.append(flat)
            return flat
        if like.device.type != "cpu":
            raise ValueError(
                f"The model is on {like.device}, but buckets in shared memory are on the CPU: "
                "take another reduce, such as all_reduce_ring, or start= for NCCL's own."
            )
        buffers = self.comm.shared((length,), like.dtype)
        self._payloads.append(buffers)
        return buffers[self.comm.rank]

    def _hook(self, bucket: Bucket) -> Callable[[Tensor], None]:
        """What autograd calls when a gradient of this bucket is there, on backward's thread."""

        def arrive(parameter: Tensor) -> None:
            if self._syncing:
                bucket.add(parameter, self.weight)  # type: ignore[arg-type]
                if bucket.full:
                    self._start_full_buckets()

        return arrive

    def _start_full_buckets(self) -> None:
        """Start what is full, strictly in order: a full bucket waits for those before it."""
        while self._next < len(self.buckets) and self.buckets[self._next].full:
            self._begin(self._payloads[self._next])
            self._next += 1

    def _begin(self, payload: Any) -> None:
        if self._start is not None:
            self._requests.append(self._start(payload))
        else:
            self._requests.append(self.comm.background(self._reduce, payload))

    def _settle(self, missing: set[nn.Parameter]) -> None:
        """Hand out the sums to parameters that had no gradient here, and be ready again."""
        for bucket in self.buckets:
            for parameter, view in bucket.views.items():
                if parameter in missing and parameter.requires_grad:
                    parameter.grad = view
            bucket.arrived.clear()
        self._requests.clear()
        self._next = 0
