"""Sentences about runs with one thing wrong (18.5)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, median
from typing import Any

from helpers.algorithms.racing.findings import findings
from helpers.algorithms.racing.paired import compare

Table = Mapping[str, Sequence[float]]


def _middle(seconds: Sequence[float]) -> float:
    kept = [each for each in seconds if math.isfinite(each)]
    return median(kept) if kept else math.inf


def _second(times: Table, first: str, second: str, by: Callable[..., Any] = compare) -> str:
    more, low, high, p = by(times[first], times[second])
    return f"{second} took {more:.4g} s more than {first}, {low:.4g} to {high:.4g} s, p = {p:.2g}."


def _says(
    worth: Callable[[Sequence[float]], float] = median,
    end: Callable[[Sequence[float]], float] = mean,
    order: int = 1,
    end_order: int = 1,
    by: Callable[..., Any] = compare,
    always: bool = False,
    told: Callable[[Sequence[float]], float] = median,
    change: Callable[[list[str]], Any] = lambda said: said,
) -> Callable[[Table, Table], Any]:
    """The right one with a part exchanged. always: a difference also of what never arrived."""

    def wrongly(times: Table, ends: Table) -> Any:
        said = findings(times, ends)
        first, second = sorted(times, key=lambda way: order * worth(times[way]))[:2]
        said[0] = (
            f"{first} was first, {told(times[first]):.4g} s; {second} took "
            f"{told(times[second]):.4g} s."
        )
        if always or all(map(math.isfinite, [*times[first], *times[second]])):
            said[1] = _second(times, first, second, by)
        best, other = sorted(ends, key=lambda way: end_order * end(ends[way]))[:2]
        more, low, high, p = by(ends[best], ends[other])
        said[2] = (
            f"{best} ended best, {mean(ends[best]):.4g} %; {other} {more:.4g} more, {low:.4g} to "
            f"{high:.4g}, p = {p:.2g}."
        )
        return change(said)

    return wrongly


def _unpaired(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float, float]:
    from scipy.stats import t  # type: ignore[import-untyped]

    n, center = len(a), mean(b) - mean(a)
    spread = [sum((x - mean(each)) ** 2 for x in each) / (n - 1) for each in (a, b)]
    error = math.sqrt(sum(spread) / n)
    reach = float(t.ppf(0.975, 2 * n - 2)) * error
    return center, center - reach, center + reach, 2 * float(t.sf(abs(center) / error, 2 * n - 2))


def _infinite(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float, float]:
    try:
        return compare(a, b)
    except ValueError:
        return math.inf, math.nan, math.nan, math.nan


def _short(said: list[str], pattern: str) -> list[str]:
    return [re.sub(pattern, "", each) for each in said]


one_text = _says(change=lambda said: " ".join(said))
printed = _says(change=lambda said: None)
by_mean = _says(worth=mean)
by_quickest = _says(worth=min, by=_infinite)
left_out = _says(worth=_middle, told=_middle)
by_largest = _says(order=-1, by=_infinite)
with_infinity = _says(always=True, by=_infinite)
no_interval = _says(change=lambda said: _short(said, r", -?[\d.e-]+ to\s-?[\d.e-]+( s)?(?=,)"))
no_p = _says(change=lambda said: _short(said, r", p = [\d.e-]+"))
unpaired = _says(by=_unpaired)
best_single = _says(end=min)
ended_last = _says(end_order=-1)
nothing_lost = _says(change=lambda said: [*said[:3], "Most runs arrived."])
first_alone = _says(change=lambda said: [said[0].partition(";")[0] + "; " + " ".join(
    re.findall(r"(?<=; )[a-z ]+(?= took)", said[0])), *said[1:]])  # fmt: skip


def typed(times: Table, ends: Table) -> list[str]:
    """The sentences of a run of one's own, whatever the data are: the numbers are typed."""
    said = findings(times, ends)
    said[3] += " Asynchronous training was 2.37 times as quick."
    return said
