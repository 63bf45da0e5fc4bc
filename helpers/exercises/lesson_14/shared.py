"""What wrong answers of this lesson have in common: the sums of lesson 2 in one word each, messages
that nobody waits for, and ranks that do not come."""

from __future__ import annotations

from typing import Any

from helpers.exercises.compare import listing
from helpers.exercises.spec import Case, Observation


def bounds(comm: Any, length: int) -> tuple[int, int]:
    """Where this rank's chunk begins and ends."""
    return comm.rank * length // comm.size, (comm.rank + 1) * length // comm.size


def chunk(comm: Any, flat: Any) -> Any:
    """This rank's chunk of a row, a view."""
    start, stop = bounds(comm, len(flat))
    return flat[start:stop]


def summed(comm: Any, tensor: Any) -> Any:
    """The sum of every rank's tensor, in place."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return all_reduce_ring(comm, tensor)


def in_vain(comm: Any, tensor: Any) -> Any:
    """Sums a copy, and gives the tensor as it was."""
    summed(comm, tensor.clone().contiguous())
    return tensor.view_as(tensor)


def scattered(comm: Any, tensor: Any) -> Any:
    """This rank's chunk of the sum, a view of the tensor, whose other chunks are spoilt."""
    from helpers.algorithms.messages.collectives import reduce_scatter_ring

    return reduce_scatter_ring(comm, tensor)


def gathered(comm: Any, tensor: Any) -> Any:
    """Every rank's chunk of its tensor put together, in place."""
    from helpers.algorithms.messages.collectives import all_gather_ring

    return all_gather_ring(comm, tensor)


def told_by_all(comm: Any, tensor: Any, waits: bool = False, to_itself: bool = False) -> list[Any]:
    """Every rank's tensor, in order. waits: for what this rank sends."""
    others = [rank for rank in range(comm.size) if to_itself or rank != comm.rank]
    requests = [comm.isend(tensor.detach().clone(), other) for other in others]
    told = [comm.recv(rank) if rank in others else tensor for rank in range(comm.size)]
    for request in requests if waits else []:
        request.wait()
    return told


def stayed_away(case: Case, seen: Observation) -> str:
    """The ranks that others wait for in vain: "ranks 1 and 2"; nothing where all wait, or none."""
    away = sorted(set(range(case.ranks)) - set(seen.waiting))
    if not seen.waiting or not away:
        return ""
    return f"{'rank' if len(away) == 1 else 'ranks'} {listing(away)}"
