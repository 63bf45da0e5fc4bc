"""What is not so in a figure of times (18.6), by what was asked of its axes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from statistics import mean, median, stdev
from typing import Any

from helpers.exercises.lesson_18.draw_read import (
    Calls,
    labels,
    marks,
    points,
    segments,
    texts,
    words,
)

Wanted = Mapping[str, Any]  # of each way (mean, low, high), or how many of its runs arrived
Table = Sequence[Sequence[Any]]
_UNIT = re.compile(r"[(\[](s|sec|seconds)[)\]]|\bseconds\b|\bin s\b|[/,] ?s\b")


def interval(seconds: Sequence[float], reach: float | None = None) -> tuple[float, float, float]:
    """A mean, and the ends of its interval. reach: in standard errors; Student's for 95 % else."""
    from scipy.stats import t  # type: ignore[import-untyped]

    center, n = mean(seconds), len(seconds)
    reach = float(t.ppf(0.975, n - 1)) if reach is None else reach
    error = stdev(seconds) / math.sqrt(n) * reach
    return center, center - error, center + error


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(1.0, abs(other))


def _has(calls: Calls, ends: tuple[float, float, float]) -> bool:
    return any(_near(low, ends[1]) and _near(high, ends[2]) for low, high in segments(calls))


# --- the looks ------------------------------------------------------------------------------------


def nothing(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """An empty figure."""
    if marks(calls):
        return None
    return (
        "nothing was drawn on `ax` that could be read as means: `ax.errorbar(…)` draws a mean and "
        "its interval; bars, points and lines can be read as well."
    )


def _instead(wanted: Wanted, calls: Calls, table: Table, reach: Any) -> str | None:
    """The first way whose interval is another one. reach: its ends, of the way's seconds."""
    for way, seconds in table:
        if not isinstance(wanted[way], tuple) or _has(calls, wanted[way]):
            continue
        return way if _has(calls, reach(seconds)) else None
    return None


def no_intervals(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """Means alone."""
    if any(True for _ in segments(calls)) or not marks(calls):
        return None
    return (
        "there are no intervals: five runs give another mean each time. Draw the 95 % interval of "
        "each mean, such as by `xerr=` or `yerr=` of `ax.errorbar`."
    )


def deviations(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """The spread of single runs."""
    way = _instead(wanted, calls, table, lambda s: interval(s, math.sqrt(len(s))))
    return way and (
        f"the interval of {way} is one standard deviation to each side, which says how single runs "
        "scatter. That of the mean is t · s/√n."
    )


def errors(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """Standard errors."""
    way = _instead(wanted, calls, table, lambda s: interval(s, 1.0))
    return way and (
        f"the interval of {way} is one standard error to each side, which holds the mean in two of "
        "three cases, and with few runs in fewer. For 95 % multiply it by Student's t."
    )


def normal(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """Of the normal distribution."""
    way = _instead(wanted, calls, table, lambda s: interval(s, 1.96)) or _instead(
        wanted, calls, table, lambda s: interval(s, 1.959963984540054)
    )
    return way and (
        f"the interval of {way} is 1.96 standard errors to each side, which holds for many runs. "
        "For so few take Student's t with n − 1 degrees of freedom."
    )


def population(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """A standard deviation that divides by n."""
    way = _instead(wanted, calls, table, lambda s: _shrunk(s, math.sqrt((len(s) - 1) / len(s))))
    return way and (
        f"the interval of {way} is too short: its standard deviation divides by n, as `numpy.std` "
        "does. From a sample it is n − 1 (`ddof=1`, or `statistics.stdev`)."
    )


def one_sided(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """t for one side."""
    from scipy.stats import t

    way = _instead(wanted, calls, table, lambda s: interval(s, float(t.ppf(0.95, len(s) - 1))))
    return way and (
        f"the interval of {way} leaves 5 % at each side, which makes 90 % between: take t at 0.975."
    )


def medians(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """The median in the place of the mean."""
    for way, seconds in table:
        if isinstance(wanted[way], tuple) and not any(
            _near(n, wanted[way][0]) for n in marks(calls)
        ):
            if any(_near(n, median(seconds)) for n in marks(calls)):
                return (
                    f"{way} is marked at its median, {median(seconds):.4g} s. The interval is that "
                    f"of the mean, {wanted[way][0]:.4g} s: draw that."
                )
            return None
    return None


def _shrunk(seconds: Sequence[float], factor: float) -> tuple[float, float, float]:
    center, low, high = interval(seconds)
    return center, center - factor * (center - low), center + factor * (high - center)


def exchanged(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """A name at another way's mean."""
    said = labels(calls)
    for way, ends in wanted.items():
        if not isinstance(ends, tuple):
            continue
        for pair in points(calls):
            for value, place in (pair, pair[::-1]):
                if isinstance(value, str) or not _near(value, ends[0]):
                    continue
                there = said.get(place, "") if not isinstance(place, str) else place
                if there in wanted and there != way:
                    return (
                        f"the name {there} stands at the mean of {way}, {ends[0]:.4g} s. Names and "
                        "numbers have to go in one order."
                    )
    return None


def extremes(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """From the quickest to the slowest."""
    way = _instead(wanted, calls, table, lambda s: (mean(s), min(s), max(s)))
    return way and (
        f"the interval of {way} goes from its quickest to its slowest run. It grows with every run "
        "more; the interval of the mean shrinks."
    )


def unit(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """The unit of the times."""
    if any(_UNIT.search(label) for label in words(calls)):
        return None
    return 'the axis of the times names no unit: `ax.set_xlabel("… (s)")`.'


def names(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """The ways' names."""
    said = " | ".join(texts(calls))
    for way in wanted:
        if not re.search(rf"(?<!\w){re.escape(way)}(?!\w)", said):
            return f"the name {way} does not stand in the figure."
    return None


def lost(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """How many arrived, where not all did."""
    said = texts(calls)
    for way, arrived in wanted.items():
        none = "|never|none" if arrived == 0 else ""
        if not isinstance(arrived, tuple) and not any(
            re.search(rf"(?<!\d){arrived}(?!\d){none}", text) for text in said
        ):
            return (
                f"{way} did not always arrive, and the figure does not say that {arrived} of its "
                "runs did: `ax.text(…)`."
            )
    return None


def left_out(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """A mean of those runs that arrived."""
    for way, seconds in table:
        kept = [s for s in seconds if math.isfinite(s)]
        if kept and len(kept) < len(seconds) and any(_near(n, mean(kept)) for n in marks(calls)):
            return (
                f"you drew the mean of {way} of those runs alone that arrived, which makes it "
                "quicker the more often it is lost. Say how many arrived, in its place."
            )
    return None


def exact(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """All means and intervals, and nothing infinite."""
    drawn = marks(calls)
    for way, ends in wanted.items():
        if isinstance(ends, tuple) and not _has(calls, ends):
            return (
                f"the 95 % interval of {way} is not drawn: it goes from {ends[1]:.4g} to "
                f"{ends[2]:.4g} s."
            )
        if isinstance(ends, tuple) and not any(_near(n, ends[0]) for n in drawn):
            return f"the mean of {way}, {ends[0]:.4g} s, is not marked."
    if any(map(math.isinf, drawn)):  # NaN is not drawn at all
        return "something is drawn at infinity, where nobody sees it: say how many runs arrived."
    return None


LOOKS = (nothing, no_intervals, exact, unit, names, exchanged, lost, left_out)
"""What the claim holds."""
