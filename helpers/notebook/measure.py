"""Times of several functions on real ranks, taken in turn so that noise hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helpers.notebook.repeats import enough


def in_turn(
    comm: Any,
    contenders: Mapping[str, Callable[[], object]],
    repeats: int = 9,
    before: Callable[[], object] = lambda: None,
) -> dict[str, list[float]]:
    """Seconds of every contender in every repeat, on this rank; two more repeats warm up.

    Collective: every rank calls it with the same contenders, and all start each one together.
    before: run ahead of each, untimed. The order turns by one each time, so that nobody always
    follows the same.
    """
    repeats = enough(repeats)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for repeat in range(-2, repeats):
        turn = repeat % len(names)
        for name in names[turn:] + names[:turn]:
            before()
            comm.barrier()
            start = time.perf_counter()
            contenders[name]()
            if repeat >= 0:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def medians(ranks: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, float]:
    """For each contender, the median over the repeats of the slowest rank's seconds.

    ranks: what `in_turn` gave on each rank, as `helpers.run` returns it. The others wait for the
    slowest rank, so its time is what a collective takes.
    """
    return {
        name: statistics.median(max(times) for times in zip(*(r[name] for r in ranks), strict=True))
        for name in ranks[0]
    }
