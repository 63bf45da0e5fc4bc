"""What is not so in a figure of times (18.6), by what was asked of its axes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

Calls = Sequence[Sequence[Any]]
Wanted = Mapping[str, Any]  # of each way (mean, low, high), or how many of its runs arrived
Table = Sequence[Sequence[Any]]
_UNIT = re.compile(r"[(\[](s|sec|seconds)[)\]]|\bseconds\b|\bin s\b|/ ?s\b")


def interval(seconds: Sequence[float], reach: float | None = None) -> tuple[float, float, float]:
    """A mean, and the ends of its interval. reach: in standard errors; Student's for 95 % else."""
    from scipy.stats import t  # type: ignore[import-untyped]

    center, n = mean(seconds), len(seconds)
    reach = float(t.ppf(0.975, n - 1)) if reach is None else reach
    error = stdev(seconds) / math.sqrt(n) * reach
    return center, center - error, center + error


# --- what stands in the figure ------------------------------------------------------------------


def _numbers(value: Any) -> list[float]:
    """All numbers in a value, in their order; texts are none."""
    if isinstance(value, bool | str) or value is None:
        return []
    if isinstance(value, int | float):
        return [float(value)]
    return [n for each in value for n in _numbers(each)] if isinstance(value, list) else []


def _args(call: Sequence[Any], names: str) -> dict[str, Any]:
    """A call's arguments by name."""
    _, args, options = call
    return {**dict(zip(names.split(), args, strict=False)), **options}


def segments(calls: Calls) -> Iterator[tuple[float, float]]:
    """The lines that may stand for intervals: their lower and upper ends."""
    for call in calls:
        name = call[0]
        if name in ("errorbar", "bar", "barh"):
            given = _args(call, {"errorbar": "x y yerr xerr", "bar": "x y", "barh": "y x"}[name])
            given["y" if name == "bar" else "x"] = given.get(
                {"bar": "height", "barh": "width"}.get(name, ""),
                given.get("y" if name == "bar" else "x"),
            )
            for axis in ("x", "y"):
                err = given.get(f"{axis}err")
                if err is not None:
                    yield from _around(_numbers(given.get(axis)), err)
        elif name in ("vlines", "hlines"):
            given = _args(call, "at low high")
            low = given.get("ymin" if name == "vlines" else "xmin", given.get("low"))
            high = given.get("ymax" if name == "vlines" else "xmax", given.get("high"))
            yield from zip(_numbers(low), _numbers(high), strict=False)
        elif name == "plot":
            for each in call[1][:2]:
                ends = _numbers(each)
                if len(ends) == 2 and ends[0] != ends[1]:
                    yield min(ends), max(ends)
        elif name == "fill_between":
            given = _args(call, "x low high")
            yield from zip(_numbers(given.get("low")), _numbers(given.get("high")), strict=False)


def _around(centers: list[float], err: Any) -> Iterator[tuple[float, float]]:
    two = isinstance(err, list) and len(err) == 2 and isinstance(err[0], list)
    below, above = (_numbers(err[0]), _numbers(err[1])) if two else (_numbers(err),) * 2
    for place, center in enumerate(centers):
        if below and above:
            yield (
                center - below[min(place, len(below) - 1)],
                center + above[min(place, len(above) - 1)],
            )


def marks(calls: Calls) -> list[float]:
    """All numbers at which something is drawn."""
    drawn = ("errorbar", "bar", "barh", "plot", "scatter", "hlines", "vlines", "step", "stem")
    return [n for name, args, options in calls if name in drawn
            for n in _numbers([*args, *options.values()])]  # fmt: skip


def texts(calls: Calls) -> list[str]:
    """All texts in the figure but those that say how something looks."""
    looks = {"fmt", "color", "c", "marker", "linestyle", "ls", "va", "ha", "loc", "which", "axis",
             "fontsize", "transform", "label"}  # fmt: skip
    found: list[str] = []
    for name, args, options in calls:
        label = [options["label"]] if isinstance(options.get("label"), str) else []
        kept = [value for key, value in options.items() if key not in looks]
        found += _texts([*args, *kept] if name not in ("plot", "errorbar") else args) + label
    return found


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [t for each in value for t in _texts(each)] if isinstance(value, list) else []


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(1.0, abs(other))


def _has(calls: Calls, ends: tuple[float, float, float]) -> bool:
    return any(_near(low, ends[1]) and _near(high, ends[2]) for low, high in segments(calls))


# --- the looks ------------------------------------------------------------------------------------


def nothing(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """An empty figure."""
    if marks(calls):
        return None
    return "nothing was drawn on `ax`: `ax.errorbar(…)` draws a mean and its interval."


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


def extremes(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """From the quickest to the slowest."""
    way = _instead(wanted, calls, table, lambda s: (mean(s), min(s), max(s)))
    return way and (
        f"the interval of {way} goes from its quickest to its slowest run. It grows with every run "
        "more; the interval of the mean shrinks."
    )


def unit(wanted: Wanted, calls: Calls, table: Table) -> str | None:
    """The unit of the times."""
    labels = [t for name, args, options in calls if name in ("set_xlabel", "set_ylabel", "set")
              for t in _texts([*args, *options.values()])]  # fmt: skip
    if any(
        re.search(r"\((s|sec|seconds)\)|\[(s|sec|seconds)\]|\bseconds\b|/ ?s\b", t) for t in labels
    ):
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
        if not isinstance(arrived, tuple) and not any(
            re.search(rf"(?<!\d){arrived}(?!\d)", text) for text in said
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
    if not all(map(math.isfinite, drawn)):
        return "something is drawn at infinity, where nobody sees it: say how many runs arrived."
    return None


LOOKS = (nothing, no_intervals, exact, unit, names, lost, left_out)
"""What the claim holds."""
