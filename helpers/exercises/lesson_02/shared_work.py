"""How much of the work each rank does in exercise 02.5."""

from __future__ import annotations

import numpy as np

from helpers.exercises.compare import close
from helpers.exercises.spec import Case, Observation

_MOST_WORK = 4  # tensors' worth of elements on many ranks; split, it is 2; alone, N and more


def too_much(case: Case, seen: Observation) -> str | None:
    """Whole buffers where slices are enough, by what the ranks' functions write."""
    total = case.facts["held"].sum(axis=0)
    if case.ranks < 8 or not all(close(v["after"], total, 1e-6) for v in seen.values):
        return None
    length = case.facts["held"].shape[1]
    worked = [(v["worked"] or 0) / length for v in seen.values]
    busiest = int(np.argmax(worked))
    if worked[busiest] <= _MOST_WORK:
        return None
    if min(worked) == 0:
        return (
            f"{case.name}, the sum is right, but rank {busiest} made it alone while others waited: "
            "each rank sums its own slice, so that all of them work at a time."
        )
    return (
        f"{case.name}, the sum is right, but rank {busiest} worked through {worked[busiest]:.2g} "
        "tensors' worth of elements: whole buffers are added, or copied, on every rank. Let each "
        "rank cut its slice of every buffer first, sum those alone and write the sum to every "
        "buffer, which takes 2."
    )


def everything_at_once(case: Case, seen: Observation) -> str | None:
    """The same by who wrote where, as the grader sees it, who does not know what was worked.

    A rank's first turn fills its buffer. In the next one it can write sums of its own slice alone,
    or of half the tensor on the way there; who has all of them has made them all.
    """
    length = case.facts["held"].shape[1]
    for rank, turns in enumerate(seen.writes if case.ranks >= 8 else []):
        if len({i % length for i in (turns[1:] or [[]])[0]}) > 0.75 * length:
            return (
                f"{case.name}, rank {rank} writes the whole sum at once: all the additions are "
                "done on every rank."
            )
    return None
