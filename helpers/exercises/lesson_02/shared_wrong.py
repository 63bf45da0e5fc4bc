"""Wrong answers to exercise 02.5: races that people really write."""

from __future__ import annotations

from typing import Any


def _slice(comm: Any, length: int) -> slice:
    return slice(comm.rank * length // comm.size, (comm.rank + 1) * length // comm.size)


def _sum_slice(comm: Any, buffers: Any, part: slice) -> Any:
    total = buffers[0][part].clone()
    for other in buffers[1:]:
        total += other[part]
    return total


def no_first_barrier(comm: Any, buffers: Any) -> None:
    """Sums before every buffer is filled."""
    part = _slice(comm, len(buffers[0]))
    total = _sum_slice(comm, buffers, part)
    for buffer in buffers:
        buffer[part] = total
    comm.barrier()


def no_last_barrier(comm: Any, buffers: Any) -> None:
    """Returns before every slice is written."""
    comm.barrier()
    part = _slice(comm, len(buffers[0]))
    total = _sum_slice(comm, buffers, part)
    for buffer in buffers:
        buffer[part] = total


def gathers_late(comm: Any, buffers: Any) -> None:
    """Takes the others' slices from their buffers, and returns at once."""
    comm.barrier()
    part = _slice(comm, len(buffers[0]))
    buffers[comm.rank][part] = _sum_slice(comm, buffers, part)
    comm.barrier()
    for other in range(comm.size):
        length = len(buffers[0])
        its = slice(other * length // comm.size, (other + 1) * length // comm.size)
        buffers[comm.rank][its] = buffers[other][its]


def own_buffer_only(comm: Any, buffers: Any) -> None:
    """Writes its slice of the sum into its own buffer alone."""
    comm.barrier()
    part = _slice(comm, len(buffers[0]))
    buffers[comm.rank][part] = _sum_slice(comm, buffers, part)
    comm.barrier()


def everything_in_place(comm: Any, buffers: Any) -> None:
    """Sums everything into its own buffer, which the others still read."""
    comm.barrier()
    buffers[comm.rank].copy_(_sum_slice(comm, buffers, slice(None)))
    comm.barrier()


def everything_aside(comm: Any, buffers: Any) -> None:
    """Right, but every rank does all the additions."""
    comm.barrier()
    total = _sum_slice(comm, buffers, slice(None))
    comm.barrier()
    buffers[comm.rank].copy_(total)


def loses_rest(comm: Any, buffers: Any) -> None:
    """Slices of `length // N`."""
    comm.barrier()
    each = len(buffers[0]) // comm.size
    part = slice(comm.rank * each, (comm.rank + 1) * each)
    total = _sum_slice(comm, buffers, part)
    for buffer in buffers:
        buffer[part] = total
    comm.barrier()


def itself_twice(comm: Any, buffers: Any) -> None:
    """Starts with its own slice and then adds every buffer, its own too."""
    comm.barrier()
    part = _slice(comm, len(buffers[0]))
    total = buffers[comm.rank][part].clone()
    for buffer in buffers:
        total += buffer[part]
    for buffer in buffers:
        buffer[part] = total
    comm.barrier()


def all_but_own(comm: Any, buffers: Any) -> None:
    """Sums in a copy and writes it to the others' buffers."""
    comm.barrier()
    part = _slice(comm, len(buffers[0]))
    total = _sum_slice(comm, buffers, part)
    for rank, buffer in enumerate(buffers):
        if rank != comm.rank:
            buffer[part] = total
    comm.barrier()


def rank_0_alone(comm: Any, buffers: Any) -> None:
    """Rank 0 sums everything and writes it to all."""
    comm.barrier()
    if comm.rank == 0:
        total = _sum_slice(comm, buffers, slice(None))
        for buffer in buffers:
            buffer.copy_(total)
    comm.barrier()


def adds_a_view(comm: Any, buffers: Any) -> None:
    """Adds all buffers, its own too, to its own slice in place."""
    comm.barrier()
    part = _slice(comm, len(buffers[0]))
    total = buffers[comm.rank][part]
    for buffer in buffers:
        total += buffer[part]
    for buffer in buffers:
        buffer[part] = total
    comm.barrier()


def only_rank_0_waits(comm: Any, buffers: Any) -> None:
    """Only rank 0 comes to the barrier: a deadlock."""
    if comm.rank == 0:
        comm.barrier()
    part = _slice(comm, len(buffers[0]))
    total = _sum_slice(comm, buffers, part)
    for buffer in buffers:
        buffer[part] = total
