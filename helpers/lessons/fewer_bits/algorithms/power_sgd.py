"""PowerSGD: of a gradient that is a matrix travel two narrow factors, whose sums are sums.

Source: Vogels, Karimireddy and Jaggi, "PowerSGD: Practical Low-Rank Gradient Compression for
Distributed Optimization" (2019), algorithms 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from helpers.lessons.fewer_bits.algorithms.feedback import ErrorFeedback, Nothing
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, flat_view

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.data_parallel.algorithms.bucket import Bucket


def low_rank_sum(comm: Comm, matrix: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Nearly the sum of all ranks' matrices, and the Q of the next step.

    matrix: M, (n, m). right: Q, (m, r), the same on all ranks. Returns: P·Q'ᵀ, (n, m), where P is
    the orthonormal sum of all M·Q, and Q', (m, r), the sum of all Mᵀ·P. Exact where the sum of the
    matrices has no more than r directions. The arguments stay as they are.
    """
    left = torch.linalg.qr(all_reduce_ring(comm, matrix @ right)).Q
    right = all_reduce_ring(comm, matrix.T @ left)
    return left @ right.T, right


class PowerSgd:
    """A sum that sends r(n + m) numbers of a gradient of n rows and m columns instead of n·m.

        replica = DataParallel(model, comm, reduce=PowerSgd(rank=4))

    With Q of the last step, (m, r): P = M·Q is summed over the ranks and made orthonormal, then
    Q = Mᵀ·P is summed, and all ranks put P·Qᵀ in the gradient's place: one step of the power
    method, which finds the largest r directions while training goes on. Both sums are of plain
    numbers, so the ring can make them. Gradients of more than two dimensions are matrices of their
    first one; what would not become smaller, such as biases, goes as it is.

    rank: r. feedback: as in `TwoWay`. `DataParallel` says which matrices lie in a bucket.
    """

    def __init__(self, rank: int, feedback: Nothing | None = None) -> None:
        self.rank = rank
        self.feedback = ErrorFeedback() if feedback is None else feedback
        self.generator = torch.Generator().manual_seed(0)  # the same on all ranks
        self.shapes: dict[int, list[tuple[int, ...]]] = {}
        self.rights: dict[int, list[Tensor]] = {}

    def take_buckets(self, buckets: Sequence[Bucket]) -> None:
        """Learn what lies in each buffer, and draw the first Q of each matrix."""
        for bucket in buckets:
            key = bucket.flat.data_ptr()
            self.shapes[key] = [tuple(view.shape) for view in bucket.views.values()]
            self.rights[key] = [
                torch.randn(columns, rank, generator=self.generator, dtype=torch.float64).to(
                    bucket.flat
                )
                for _, columns, rank in map(self._factors, self.shapes[key])
                if rank
            ]

    def __call__(self, comm: Comm, tensor: Tensor) -> Tensor:
        """Sum in place, nearly. Raises ValueError for a buffer that it was not told of."""
        flat = flat_view(tensor)
        key = flat.data_ptr()
        if key not in self.shapes:
            raise ValueError(
                "PowerSgd does not know which matrices lie in this tensor: give it to "
                "DataParallel(…, reduce=…), or call take_buckets first."
            )
        if comm.size == 1:
            return tensor
        wanted = self.feedback.add(key, flat)
        matrices, rest = self._parts(key, wanted)
        lefts = [m @ q for m, q in zip(matrices, self.rights[key], strict=True)]
        summed = _summed(comm, [*lefts, *rest])
        lefts = [torch.linalg.qr(left).Q for left in summed[: len(matrices)]]
        own = [m.T @ p for m, p in zip(matrices, lefts, strict=True)]
        self.rights[key] = _summed(comm, own)

        told = wanted.clone()  # of this rank; what is not factored is told as it is
        self._put(key, told, lefts, own, rest)
        self.feedback.sent(key, wanted, told)
        self._put(key, flat, lefts, self.rights[key], summed[len(matrices) :])
        return tensor

    def _parts(self, key: int, flat: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Views: the matrices that are factored, (n, m) each, and the rest, flat."""
        matrices, rest = [], []
        sizes = [torch.Size(shape).numel() for shape in self.shapes[key]]
        for part, shape in zip(flat.split(sizes), self.shapes[key], strict=True):
            rows, columns, rank = self._factors(shape)
            if rank:
                matrices.append(part.view(rows, columns))
            else:
                rest.append(part)
        return matrices, rest

    def _put(
        self, key: int, flat: Tensor, lefts: list[Tensor], rights: list[Tensor], rest: list[Tensor]
    ) -> None:
        """Write products of factors, and the rest, where they belong."""
        matrices, others = self._parts(key, flat)
        for matrix, left, right in zip(matrices, lefts, rights, strict=True):
            matrix.copy_(left @ right.T)
        for other, values in zip(others, rest, strict=True):
            other.copy_(values)

    def _factors(self, shape: Sequence[int]) -> tuple[int, int, int]:
        """Rows and columns of a gradient as a matrix, and its factors' rank, 0 for none."""
        rows = shape[0] if shape else 1
        columns = int(torch.Size(shape).numel()) // max(rows, 1)
        pays = self.rank * (rows + columns) < rows * columns
        return rows, columns, self.rank if pays else 0


def power_sgd_numbers(shapes: Sequence[Sequence[int]], rank: int) -> int:
    """How many numbers travel instead of gradients of these shapes: r(n + m), or all of them.

    Example: power_sgd_numbers([(100, 50), (50,)], 4) is 650, instead of 5050.
    """
    reducer, total = PowerSgd(rank), 0
    for shape in shapes:
        rows, columns, kept = reducer._factors(shape)
        total += kept * (rows + columns) if kept else rows * columns
    return total


def _summed(comm: Comm, tensors: list[Tensor]) -> list[Tensor]:
    """The sums over ranks of several tensors, in one all-reduce, as new tensors."""
    if not tensors:
        return []
    flat = all_reduce_ring(comm, torch.cat([tensor.reshape(-1) for tensor in tensors]))
    parts = flat.split([tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]
