"""What an answer to 17.4 gave, as pieces, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.compare import describe, is_array, number
from helpers.exercises.spec import Case, Observation

Piece = tuple[int, int, int]


def given(value: Any) -> list[Piece] | None:
    """Pieces in any kind of list; None for anything else."""
    items = value.tolist() if is_array(value) else value
    if type(items) not in (list, tuple):
        return None
    found = []
    for item in items:
        each = item.tolist() if is_array(item) and item.ndim == 1 else item
        if type(each) not in (list, tuple) or len(each) != 3:
            return None
        numbers = [number(one) for one in each]
        if any(one is None or one != int(one) for one in numbers):
            return None
        part, start, stop = (int(one) for one in numbers if one is not None)
        found.append((part, start, stop))
    return found


def first_wrong(case: Case, seen: Observation) -> tuple[int, Any, list[Piece]] | None:
    """The first rank with other pieces than its own, what it gave, and what it should have."""
    for rank, (value, want) in enumerate(zip(seen.values[0][0], case.facts["want"], strict=True)):
        if given(value) != want:
            return rank, value, want
    return None


def backward(case: Case, seen: Observation) -> str | None:
    """A piece of less than no elements, from a part with which a slice has nothing in common."""
    for rank, value in enumerate(seen.values[0][0]):
        for part, start, stop in given(value) or []:
            if stop < start:
                return (
                    f"{case.name}, rank {rank} gets {(part, start, stop)}, which ends before it "
                    f"begins: of part {part} it needs nothing. List a piece only where its start "
                    "is below its stop."
                )
    return None


def told_of(rank: int, value: Any, want: list[Piece]) -> str:
    """What a rank gets instead of what it should."""
    pieces = given(value)
    said = describe(value) if pieces is None else listed(pieces)
    return f"rank {rank} gets {said} instead of {listed(want)}"


def listed(pieces: Sequence[Piece]) -> str:
    """Pieces in brackets; the first ones of many."""
    shown = ", ".join(map(str, pieces[:4]))
    return f"[{shown}, …]" if len(pieces) > 4 else f"[{shown}]"
