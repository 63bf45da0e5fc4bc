"""Contenders timed in turn on the same ranks, so that a busy moment hits all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def interleaved(
    comm: Any,
    contenders: Mapping[str, Callable[[], object]],
    repeats: int,
    before: Callable[[], object] = lambda: None,
    warmup: int = 2,
) -> dict[str, list[float]]:
    """Seconds of every contender in every repeat, on this rank.

    All ranks start a contender together. before: run ahead of each, untimed. warmup: repeats that
    are run and not kept. The order turns by one each time, so nobody always follows the same.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for repeat in range(-warmup, repeats):
        turn = repeat % len(names)
        for name in names[turn:] + names[:turn]:
            before()
            comm.barrier()
            start = time.perf_counter()
            contenders[name]()
            if repeat >= 0:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def slowest(ranks: Sequence[dict[str, list[float]]]) -> dict[str, list[float]]:
    """Of every repeat, the time of the rank that took longest: the others wait for it."""
    return {
        name: [max(times) for times in zip(*(rank[name] for rank in ranks), strict=True)]
        for name in ranks[0]
    }


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as long theirs takes: the median over the repeats, each beside the other."""
    return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
