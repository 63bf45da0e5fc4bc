"""What exercise 02.3 says of a second half, the all-gather, that sends the wrong chunk."""

from __future__ import annotations

import numpy as np

from helpers.exercises.compare import close, count, is_array
from helpers.exercises.spec import Case, Observation


def _cuts(case: Case) -> list[tuple[int, int]]:
    """First element and last (exclusive) of each chunk."""
    n, length = case.ranks, case.facts["held"].shape[1]
    return [(c * length // n, (c + 1) * length // n) for c in range(n)]


def _went_round(case: Case, seen: Observation) -> bool:
    """Whether every rank ended, with as many messages as both halves take."""
    n, shape = case.ranks, case.facts["held"][0].shape
    whole = all(is_array(value["after"], shape) for value in seen.values)
    return not seen.trouble and n > 1 and whole and set(seen.messages) == {2 * (n - 1)}


def another_chunk(case: Case, seen: Observation) -> str | None:
    """A chunk that holds the sum of another one."""
    if not _went_round(case, seen):
        return None
    total, cuts = case.facts["held"].sum(axis=0), _cuts(case)
    for rank, value in enumerate(seen.values):
        for place, (low, high) in enumerate(cuts):
            got = value["after"][low:high]
            if high == low or close(got, total[low:high]):
                continue
            for other, (a, b) in enumerate(cuts):
                if close(got, total[a:b]):
                    return (
                        f"{case.name}, rank {rank}'s chunk {place} holds the sum of chunk {other}: "
                        "in the second half, too, a rank sends another chunk at each step, the one "
                        "that came last."
                    )
    return None


def not_complete(case: Case, seen: Observation) -> str | None:
    """The same on all ranks, and each chunk the sum over some neighbours alone."""
    if not _went_round(case, seen):
        return None
    first, held, n = seen.values[0]["after"], case.facts["held"], case.ranks
    if not all(np.array_equal(value["after"], first) for value in seen.values):
        return None
    found = []
    for low, high in _cuts(case):
        if high > low:
            parts = {
                (start, ranks)
                for start in range(n)
                for ranks in range(1, n)
                if close(first[low:high], _sum_of(held, start, ranks)[low:high])
            }
            found.append(parts)
    if not found or not all(found) or set.intersection(*found):
        return None  # the last: every chunk is of the same ranks, as after a broadcast
    ranks = min(number for _, number in found[0])
    return (
        f"{case.name}, all ranks hold the same, but a chunk of it is what {count(ranks, 'rank')} "
        f"of {n} had: the second half began with a chunk that is not complete. Send the one first "
        "that the first half added to last."
    )


def _sum_of(held: np.ndarray, start: int, ranks: int) -> np.ndarray:
    """The sum over so many ranks from `start` on, round the ring."""
    total: np.ndarray = held[[(start + i) % len(held) for i in range(ranks)]].sum(axis=0)
    return total
