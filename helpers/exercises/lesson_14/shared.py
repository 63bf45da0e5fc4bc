"""What exercises of this lesson have in common: messages that nobody waits for, pairs that were
asked for, and ranks that do not come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helpers.exercises.compare import describe, listing
from helpers.exercises.spec import Case, Look, Observation


def told_by_all(comm: Any, tensor: Any, waits: bool = False, to_itself: bool = False) -> list[Any]:
    """Every rank's tensor, in order. waits: for what this rank sends."""
    others = [rank for rank in range(comm.size) if to_itself or rank != comm.rank]
    requests = [comm.isend(tensor.detach().clone(), other) for other in others]
    told = [comm.recv(rank) if rank in others else tensor for rank in range(comm.size)]
    for request in requests if waits else []:
        request.wait()
    return told


def returned(value: Any) -> tuple[Any, Any]:
    """The pair that a rank gave; None, None where it gave none."""
    gave = value["returned"]
    if isinstance(gave, tuple | list) and len(gave) == 2:
        return gave[0], gave[1]
    return None, None


def no_pair(names: str) -> Look:
    """What recognises a rank that gave no pair. names: of the two, in brackets."""

    def look(case: Case, seen: Observation) -> Iterator[str]:
        for rank, value in enumerate(seen.values):
            if returned(value) == (None, None):
                what = describe(value["returned"])
                yield f"rank {rank} returned {what}: return the pair {names}."

    return look


def stayed_away(case: Case, seen: Observation) -> str:
    """The ranks that others wait for in vain: "ranks 1 and 2"; nothing where all wait, or none."""
    away = sorted(set(range(case.ranks)) - set(seen.waiting))
    if not seen.waiting or not away:
        return ""
    return f"{'rank' if len(away) == 1 else 'ranks'} {listing(away)}"
