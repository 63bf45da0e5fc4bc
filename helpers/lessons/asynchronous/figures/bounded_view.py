"""Figures of stale synchronous parallel: who waits when, and how soon something is learned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from helpers.engine.servers.training import Training
from helpers.lessons.asynchronous.figures.staleness_view import draw_traces
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, GREY, ORANGE, axes

Times = Mapping[float, Sequence[float]]  # by bound: seconds, one a seed; infinite for never


def named(bound: float) -> str:
    """A bound in a text: "3", or "∞"."""
    return f"{bound:g}" if math.isfinite(bound) else "∞"


def show_timelines(runs: Mapping[float, Training], slow: int, seconds: float) -> None:
    """The workers' timelines, a panel a bound. slow: the worker that takes longer."""
    titled = {}
    for bound, run in runs.items():
        given, latest = len(run.staleness), run.staleness.max()
        titled[f"s = {named(bound)}: {given} gradients, at most {latest} updates late"] = run
    show(
        draw_traces(titled, seconds, height=1.6),
        caption=f"The same workers and step times; worker {slow} (the picture numbers workers as "
        "ranks) is the slow one. The larger s is, the later its first victim begins to wait; but "
        "under every finite s all come to its pace in the end.",
        alt=f"Timelines of workers over {seconds:g} seconds, a panel a bound. {'; '.join(titled)}. "
        "With a small s the quick workers compute in turns with long waits; without a bound their "
        "rows have no gaps.",
    )


def show_when(found: Mapping[str, Times], target: float, limit: float) -> None:
    """The time to an error of `target` % by the bound, a curve for each way to deal out the rows.

    limit: the seconds after which a training was given up.
    """
    figure, ax = axes(width=7.6, height=3.6)
    bounds = list(next(iter(found.values())))
    told = []
    for (name, times), colour, mark in zip(found.items(), (BLUE, ORANGE), "os", strict=True):
        middle = [mean(times[bound], limit) for bound in bounds]
        ax.plot(range(len(bounds)), middle, color=colour, lw=1.6)
        for place, bound in enumerate(bounds):
            there = [seconds for seconds in times[bound] if math.isfinite(seconds)]
            ax.plot([place] * len(there), there, mark, color=colour, ms=6)
            if len(there) < len(times[bound]):
                ax.plot([place], [limit], mark, color=colour, mfc="white", ms=8)
        ax.plot([], [], color=colour, marker=mark, label=name)
        each = ", ".join(
            f"s = {named(bound)} {now:.0f} s" for bound, now in zip(bounds, middle, strict=True)
        )
        told.append(f"{name}: {each}")
    ax.axhline(limit, color=GREY, linestyle=":", linewidth=1.2)
    ax.set_xticks(range(len(bounds)), [named(bound) for bound in bounds])
    ax.set(xlabel="bound s (gradients ahead of the slowest)", ylabel=f"time to {target:g} % (s)")
    ax.set_ylim(0, 1.08 * limit)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    best = "; ".join(
        f"{name}, s = {named(quickest(times, limit))}" for name, times in found.items()
    )
    given_up = any(math.inf in times[bound] for times in found.values() for bound in bounds)
    opened = f", an open mark for one that was not there after {limit:g} s" if given_up else ""
    show(
        figure,
        caption=f"Time on the clock to a test error of {target:g} %; a mark a seed, a line through "
        f"their means{opened}. Quickest: {best}.",
        alt=f"Line chart of the time to {target:g} % against the bound. {'. '.join(told)}.",
    )


def mean(seconds: Sequence[float], limit: float) -> float:
    """Of several trainings; one that was given up counts as long as it ran."""
    return sum(min(each, limit) for each in seconds) / len(seconds)


def quickest(times: Times, limit: float) -> float:
    """The bound with the least time; of equal ones the largest."""
    return min(times, key=lambda bound: (mean(times[bound], limit), -bound))


def where(bound: float, bounds: Sequence[float]) -> str:
    """Where the best bound lies, as a prediction asks for it."""
    if not math.isfinite(bound):
        return "no bound at all"
    return "s = 0: everybody waits" if bound == min(bounds) else "somewhere between"
