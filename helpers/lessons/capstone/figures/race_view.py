"""Figures and tables of lesson 18: what the ways to train took, and what they reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, median
from typing import Any

from helpers.lessons.capstone.experiments.settings import SEARCHED
from helpers.notebook.figures import show
from helpers.notebook.style import CYCLE, axes
from helpers.notebook.tables import Table

Times = Mapping[str, Sequence[float]]


def said(seconds: float) -> str:
    """Seconds with three digits; "never" for infinity."""
    return f"{seconds:.3g} s" if math.isfinite(seconds) else "never"


def race_table(
    times: Times, ends: Times, rates: Mapping[str, float], caption: str, where: str = "measured"
) -> Table:
    """Each way's median time, how often it arrived, and its mean end. where: how it was found."""
    rows = []
    for way, seconds in times.items():
        arrived = sum(map(math.isfinite, seconds))
        row = [way, f"{rates[way]:g}", said(median(seconds)), f"{arrived} of {len(seconds)}"]
        rows.append([*row, f"{mean(ends[way]):.1f} %"])
    headings = ["way", "rate", f"median time to the target, {where}", "arrived", "error at the end"]
    return Table(headings, rows, caption)


def rates_table(found: Mapping[str, Mapping[str, float]], caption: str) -> Table:
    """The rates that each setting's search chose, and whether a better one may lie beyond."""
    ways = list(next(iter(found.values())))
    rows = [[way, *(_rate(rates[way]) for rates in found.values())] for way in ways]
    return Table(["way", *found], rows, caption)


def _rate(rate: float) -> str:
    at_the_end = rate in (min(SEARCHED), max(SEARCHED))
    return f"{rate:g}, the list ends there" if at_the_end else f"{rate:g}"


def show_curves(
    runs: Mapping[str, Sequence[Sequence[float]]], target: float, unit: str, caption: str
) -> None:
    """Test error over time. runs: of each way (seconds, error in %), one run. unit: of the time.

    Each look is drawn pale, the mean of three above it, with a dot where that is at the target.
    """
    figure, ax = axes(height=4.2)
    told = []
    for (way, looks), colour in zip(runs.items(), CYCLE, strict=False):
        seconds, errors = [s for s, _ in looks], [e for _, e in looks]
        three = [mean(errors[k - 2 : k + 1]) for k in range(2, len(errors))]
        ax.plot(seconds, errors, color=colour, linewidth=0.8, alpha=0.35)
        ax.plot(seconds[2:], three, color=colour, label=way)
        there = [(s, e) for s, e in zip(seconds[2:], three, strict=True) if e <= target]
        if there:
            ax.plot(*there[0], "o", color=colour, markeredgecolor="white", zorder=3)
        when = f"is at the target after {there[0][0]:.3g} s" if there else "is never at the target"
        told.append(f"{way} {when} and ends at {errors[-1]:.0f} % after {seconds[-1]:.3g} s")
    ax.axhline(target, color="#555555", linewidth=1, linestyle="--", label="target")
    ax.set(xlabel=f"seconds since all ranks were ready{unit}", ylabel="test error (%)")
    ax.set(yscale="log", ylim=(4, 100), yticks=[5, 10, 20, 50, 100])
    ax.set_yticklabels(["5", "10", "20", "50", "100"])
    ax.minorticks_off()
    ax.legend(fontsize=8)
    words = "Test error over time, one run of each way, by the mean of three looks"
    show(figure, caption, f"{words}. {'; '.join(told)}.")


def show_times(draw: Callable[[Any, Any], None], times: Times, caption: str) -> None:
    """A figure by the learner's `draw`, with what it should say in its alternative text."""
    figure, ax = axes(height=3.2)
    draw(ax, {way: list(seconds) for way, seconds in times.items()})
    told = [
        f"{way} {mean(seconds):.3g} s on average" if all(map(math.isfinite, seconds)) else
        f"{way} arrived in {sum(map(math.isfinite, seconds))} of {len(seconds)} runs"
        for way, seconds in times.items()
    ]  # fmt: skip
    show(figure, caption, f"Time to the target with 95 % intervals: {'; '.join(told)}.")


def predicted_table(predicted: Times, measured: Times, caption: str) -> Table:
    """The model's medians beside the measured ones."""
    rows = []
    for way, seconds in predicted.items():
        one = median(seconds)
        other = median(measured[way]) if way in measured else math.nan
        both = math.isfinite(one) and math.isfinite(other)
        apart = f"{100 * (one / other - 1):+.0f} %" if both else "–"
        rows.append([way, said(one), said(other), apart])
    return Table(["way", "modelled", "measured", "apart"], rows, caption)


def _least(values: Mapping[str, float]) -> str:
    """Who has the smallest value; all of them where several do."""
    return " and ".join(way for way, value in values.items() if value == min(values.values()))


def same_orders(one: Times, other: Times) -> str:
    """In how many pairs of ways two tables agree on who is first in the median."""
    ways = [way for way in one if way in other]
    pairs = [(a, b) for k, a in enumerate(ways) for b in ways[k + 1 :]]
    same = sum((median(one[a]) < median(one[b])) == (median(other[a]) < median(other[b]))
               for a, b in pairs)  # fmt: skip
    return f"The model has {same} of {len(pairs)} orders of two ways as they were measured."


def predictions_table(
    predicted: Mapping[str, Mapping[str, str]], tables: Mapping[str, tuple[Times, Times]]
) -> Table:
    """What was predicted of each setting, and what came."""
    rows = []
    for setting, given in predicted.items():
        if setting not in tables:
            rows.append([setting, given["first"], "–", given["best"], "–"])
            continue
        times, ends = tables[setting]
        first = _least({way: median(seconds) for way, seconds in times.items()})
        best = _least({way: mean(errors) for way, errors in ends.items()})
        rows.append([setting, given["first"], first, given["best"], best])
    headings = ["setting", "first, predicted", "first", "best, predicted", "best"]
    return Table(headings, rows, "Predictions from the logbook, and what the runs gave.")


def factors_table(found: Mapping[str, Mapping[str, tuple[float, float]]]) -> Table:
    """What times are made of. found: by setting and way the share of a run's gradients that the
    target took, and the seconds of all at that pace; infinity for never."""
    rows = []
    for setting, ways in found.items():
        for way, (share, pace) in ways.items():
            needed = f"{100 * share:.0f} %" if math.isfinite(share) else "–"
            rows.append([setting, way, needed, said(pace) if math.isfinite(pace) else "–"])
    headings = ["setting", "way", "gradients needed", "all of a run would take"]
    return Table(headings, rows, "The two factors of a time to the target, each in the median.")


def orders_table(rows: Sequence[Sequence[str]]) -> Table:
    """The ways in order, by setting."""
    return Table(["by", "setting", "from the first to the last"], rows, "The order of the ways.")


def settings_table(settings: Sequence[Any], target: float) -> Table:
    """What the settings are, in numbers."""
    rows = []
    for one in settings:
        computing = f"{1e3 * one.compute:g} ms" if one.compute else "as measured in 2017"
        slow = f", the last {one.slow:g}×" if one.slow != 1 else ""
        link = f"{one.bandwidth * 8 / 1e6:g} Mbit/s" if one.bandwidth else "the machine's memory"
        spare = f"{one.aggregate} of {one.workers}"
        counts = [str(each) for each in (one.workers, one.rows, one.steps)]
        rows.append([one.name, *counts, spare, computing + slow, link])
    heads = ["setting", "workers", "rows a gradient", "steps", "spare replicas use",
             "a gradient takes", "links"]  # fmt: skip
    caption = f"The settings. The target is a test error of {target:g} %; plain SGD."
    return Table(heads, rows, caption)
