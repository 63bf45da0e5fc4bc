"""Ranks that share one GPU, by CUDA's own shared memory: one process opens what another made.

The sum is the lessons' `all_reduce_shared`, on buffers that lie on the GPU: no byte passes the
host. Source: CUDA C++ Programming Guide, "Interprocess Communication"; torch's `reduce_tensor`
makes the handle that a process sends and another one opens.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from benchmarks.on_device import finish
from helpers.notebook.measure import in_turn


class OnDevice:
    """A comm whose barrier waits for the device first: kernels outlive the calls of them."""

    def __init__(self, comm: Any) -> None:
        self.comm, self.rank, self.size = comm, comm.rank, comm.size

    def barrier(self) -> None:
        """Everything that all ranks have given the device is done."""
        finish(self.comm.device)
        self.comm.barrier()


def opened(comm: Any, mine: Tensor) -> list[Tensor]:
    """The tensors of all ranks, in their order: this rank's own, and views of the others'."""
    import torch.distributed as dist
    from torch.multiprocessing.reductions import reduce_tensor

    handles: list[Any] = [None] * comm.size
    dist.all_gather_object(handles, reduce_tensor(mine), group=dist.new_group(backend="gloo"))
    return [
        mine if rank == comm.rank else build(*arguments)
        for rank, (build, arguments) in enumerate(handles)
    ]


def cuda_sums(
    comm: Any, lengths: tuple[int, ...], repeats: int
) -> dict[int, dict[str, list[float]]]:
    """Seconds of a message's way, read by the next rank, and of an all-reduce, of each length.

    Raises RuntimeError where a sum is not the ranks' sum.
    """
    from helpers.lessons.messages.algorithms.collectives import all_reduce_shared

    here, found = OnDevice(comm), {}
    for length in lengths:
        mine, copy = (torch.empty(length, device=comm.device) for _ in range(2))
        buffers = opened(comm, mine)

        def fill(mine: Tensor = mine) -> None:
            mine.fill_(1.0)
            here.barrier()

        def read(copy: Tensor = copy, buffers: list[Tensor] = buffers) -> None:
            copy.copy_(buffers[(comm.rank + 1) % comm.size])
            finish(comm.device)

        def reduce(buffers: list[Tensor] = buffers) -> None:
            all_reduce_shared(here, buffers)  # type: ignore[arg-type]

        fill()
        reduce()
        if not bool((mine == comm.size).all()):
            raise RuntimeError(f"The ranks' sum of {length} numbers is wrong.")
        found[length] = in_turn(comm, {"read": read, "sum": reduce}, repeats, before=fill)
        here.barrier()
        del buffers
        here.barrier()  # nobody gives a tensor back that another one still has open
    return found
