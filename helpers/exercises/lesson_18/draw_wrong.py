"""Figures of times with one thing wrong (18.6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, median, stdev
from typing import Any

Times = Mapping[str, Sequence[float]]
Reach = Callable[[Sequence[float]], Any]


def _t(seconds: Sequence[float], share: float = 0.975) -> float:
    from scipy.stats import t  # type: ignore[import-untyped]

    return float(t.ppf(share, len(seconds) - 1)) * stdev(seconds) / math.sqrt(len(seconds))


def _draws(
    reach: Reach = _t,
    label: str = "time to the target (s)",
    named: bool = True,
    told: bool = True,
    kept: bool = False,
    center: Reach = mean,
    names: Callable[[list[str]], list[str]] = list,
) -> Callable[[Any, Times], None]:
    """The right one with a part exchanged, upright. reach: of an interval, to each side. names: of
    the names along the axis."""

    def wrongly(ax: Any, times: Times) -> None:
        for place, seconds in enumerate(times.values()):
            arrived = [s for s in seconds if math.isfinite(s)]
            if len(arrived) < len(seconds):
                if told:
                    ax.text(place, 1, f"{len(arrived)} of {len(seconds)} arrived")
                if not kept or len(arrived) < 2:
                    continue
            ax.errorbar([place], [center(arrived)], yerr=reach(arrived), fmt="s")
        ax.set(ylabel=label)
        if named:
            ax.set_xticks(range(len(times)), names(list(times)))

    return wrongly


def nothing(ax: Any, times: Times) -> None:
    ax.set_xlabel("time to the target (s)")


def bars_alone(ax: Any, times: Times) -> None:
    ax.bar(list(times), [mean(s) if all(map(math.isfinite, s)) else 0 for s in times.values()])
    ax.set_ylabel("time to the target (s)")


deviations = _draws(stdev)
errors = _draws(lambda s: stdev(s) / math.sqrt(len(s)))
normal = _draws(lambda s: 1.96 * stdev(s) / math.sqrt(len(s)))
population = _draws(lambda s: _t(s) * math.sqrt((len(s) - 1) / len(s)))
one_sided = _draws(lambda s: _t(s, 0.95))
medians = _draws(center=median)
turned_round = _draws(names=lambda ways: ways[::-1])
extremes = _draws(lambda s: [[mean(s) - min(s)], [max(s) - mean(s)]])
no_unit = _draws(label="time to the target")
no_names = _draws(named=False)
nothing_lost = _draws(told=False)
left_out = _draws(kept=True)
