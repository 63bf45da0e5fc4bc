"""Wrong answers to exercise 02.5: races that people really write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _slice(rank: int, size: int, length: int) -> slice:
    return slice(rank * length // size, (rank + 1) * length // size)


def _sum(buffers: Any, rank: int, part: slice) -> Any:
    total = buffers[0][part].clone()
    for other in buffers[1:]:
        total += other[part]
    return total


def _to_all(buffers: Any, rank: int, part: slice, total: Any) -> None:
    for buffer in buffers:
        buffer[part] = total


def _to_own(buffers: Any, rank: int, part: slice, total: Any) -> None:
    buffers[rank][part] = total


def _to_others(buffers: Any, rank: int, part: slice, total: Any) -> None:
    _to_all([buffer for other, buffer in enumerate(buffers) if other != rank], rank, part, total)


def _add_all(total: Any, buffers: Any, part: slice) -> Any:
    for buffer in buffers:
        total += buffer[part]
    return total


def _shared(
    cut: Callable[[int, int, int], slice] = _slice,
    add: Callable[[Any, int, slice], Any] = _sum,
    write: Callable[[Any, int, slice, Any], None] = _to_all,
    before: bool = True,
    between: bool = False,
    after: bool = True,
) -> Callable[..., None]:
    """An answer with something wrong. before, between, after: whether there is a barrier."""

    def all_reduce_shared(comm: Any, buffers: Any) -> None:
        if before:
            comm.barrier()
        part = cut(comm.rank, comm.size, len(buffers[0]))
        total = add(buffers, comm.rank, part)
        if between:
            comm.barrier()
        write(buffers, comm.rank, part, total)
        if after:
            comm.barrier()

    return all_reduce_shared


no_first_barrier = _shared(before=False)
barrier_behind_reading = _shared(before=False, between=True)
no_last_barrier = _shared(after=False)
own_buffer_only = _shared(write=_to_own)
no_buffer = _shared(write=lambda buffers, rank, part, total: None)
all_but_own = _shared(write=_to_others)
everything_in_place = _shared(cut=lambda rank, size, length: slice(None), write=_to_own)
loses_rest = _shared(cut=lambda rank, size, length: _slice(rank, size, length // size * size))
rounds_up = _shared(
    cut=lambda rank, n, length: slice(rank * -(-length // n), (rank + 1) * -(-length // n))
)
itself_twice = _shared(add=lambda all_, rank, part: _add_all(all_[rank][part].clone(), all_, part))
averages = _shared(add=lambda all_, rank, part: _sum(all_, rank, part) / len(all_))
adds_a_view = _shared(add=lambda all_, rank, part: _add_all(all_[rank][part], all_, part))


def gathers_late(comm: Any, buffers: Any) -> None:
    own_buffer_only(comm, buffers)
    for other in range(comm.size):
        its = _slice(other, comm.size, len(buffers[0]))
        buffers[comm.rank][its] = buffers[other][its]


def everything_aside(comm: Any, buffers: Any) -> None:
    comm.barrier()
    total = _sum(buffers, comm.rank, slice(None))
    comm.barrier()
    buffers[comm.rank].copy_(total)


def waits_for_a_time(comm: Any, buffers: Any) -> None:
    comm.compute(0.01)
    _shared(before=False, after=False)(comm, buffers)
    comm.compute(0.01)


def barrier_a_buffer(comm: Any, buffers: Any) -> None:
    for _ in buffers:
        comm.barrier()
    _shared()(comm, buffers)


def rank_0_alone(comm: Any, buffers: Any) -> None:
    comm.barrier()
    if comm.rank == 0:
        _to_all(buffers, 0, slice(None), _sum(buffers, 0, slice(None)))
    comm.barrier()


def only_rank_0_waits(comm: Any, buffers: Any) -> None:
    if comm.rank == 0:
        comm.barrier()
    _shared(before=False, after=False)(comm, buffers)
