"""Figures of times with one thing wrong (18.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

Times = Mapping[str, Sequence[float]]
Reach = Callable[[Sequence[float]], Any]


def _t(seconds: Sequence[float]) -> float:
    from scipy.stats import t  # type: ignore[import-untyped]

    return float(t.ppf(0.975, len(seconds) - 1)) * stdev(seconds) / math.sqrt(len(seconds))


def _draws(
    reach: Reach = _t,
    label: str = "time to the target (s)",
    named: bool = True,
    told: bool = True,
    kept: bool = False,
) -> Callable[[Any, Times], None]:
    """The right one with a part exchanged, upright. reach: of an interval, to each side."""

    def wrongly(ax: Any, times: Times) -> None:
        for place, seconds in enumerate(times.values()):
            arrived = [s for s in seconds if math.isfinite(s)]
            if len(arrived) < len(seconds):
                if told:
                    ax.text(place, 1, f"{len(arrived)} of {len(seconds)} arrived")
                if not kept or len(arrived) < 2:
                    continue
            ax.errorbar([place], [mean(arrived)], yerr=reach(arrived), fmt="s")
        ax.set(ylabel=label)
        if named:
            ax.set_xticks(range(len(times)), list(times))

    return wrongly


def nothing(ax: Any, times: Times) -> None:
    ax.set_xlabel("time to the target (s)")


def bars_alone(ax: Any, times: Times) -> None:
    ax.bar(list(times), [mean(s) if all(map(math.isfinite, s)) else 0 for s in times.values()])
    ax.set_ylabel("time to the target (s)")


deviations = _draws(stdev)
errors = _draws(lambda s: stdev(s) / math.sqrt(len(s)))
normal = _draws(lambda s: 1.96 * stdev(s) / math.sqrt(len(s)))
extremes = _draws(lambda s: [[mean(s) - min(s)], [max(s) - mean(s)]])
no_unit = _draws(label="time to the target")
no_names = _draws(named=False)
nothing_lost = _draws(told=False)
left_out = _draws(kept=True)
