"""What times of contenders say that were taken in turn on the same ranks, by `in_turn`."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def slowest(ranks: Sequence[dict[str, list[float]]]) -> dict[str, list[float]]:
    """Of every repeat, the time of the rank that took longest: the others wait for it."""
    return {
        name: [max(times) for times in zip(*(rank[name] for rank in ranks), strict=True)]
        for name in ranks[0]
    }


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as long theirs takes: the median over the repeats, each beside the other."""
    return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
