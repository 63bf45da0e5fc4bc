"""Figures of asynchronous training: how late gradients are, and what that does.

Each function takes what a cell has measured, draws it and shows it with caption and alt text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from typing import Any

import numpy as np

from helpers.engine.servers.training import Point, Training
from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLUE,
    CYCLE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SKY,
    axes,
    measured,
    modelled,
    note,
    published,
    ticks,
)

MARKS = "osD^vPX"


def show_staleness(found: Mapping[str, np.ndarray], workers: int, theirs: Any) -> None:
    """How late gradients are on the clock, by step times, beside the published table by layer.

    theirs: by layer, min, mean, max and sd. The line is at N − 1.
    """
    figure, (left, right) = axes(columns=2, width=9.2, height=3.6)
    for (name, late), colour in zip(found.items(), (BLUE, ORANGE, RED), strict=False):
        top = int(2.6 * workers)
        counts = np.bincount(late, minlength=top + 1)[: top + 1] / len(late)
        label = f"{name}: mean {late.mean():.1f}"
        left.step(np.arange(top + 1), 100 * counts, where="mid", color=colour, lw=1.5, label=label)
    left.set(xlabel="staleness (updates)", ylabel="gradients (%)", xlim=(0, 2.6 * workers))
    left.set_title("measured on the clock", fontsize=10)
    left.legend(fontsize=9, loc="upper right")
    for place, one in enumerate(theirs.values()):
        low, high = one["mean"] - one["min"], one["max"] - one["mean"]
        look = published("mean, smallest and largest" if place == 0 else "")
        look = {k: v for k, v in look.items() if k != "linestyle"}
        right.errorbar([one["mean"]], [place], xerr=[[low], [high]], linestyle="none", **look)
        note(right, f"{one['mean']:.1f}", (one["mean"], place), (0, 8), ha="center")
    right.set_yticks(range(len(theirs)), [f"layer {name[1:]}" for name in theirs])
    right.set(xlabel="staleness (updates)", xlim=(0, 2.6 * workers), ylim=(-0.6, len(theirs) - 0.3))
    right.set_title("published: Chen et al. 2017, table 1", fontsize=10)
    for ax in (left, right):
        ax.axvline(workers - 1, **{k: v for k, v in modelled().items() if k != "label"})
    right.annotate(f"N − 1 = {workers - 1}", (workers + 1, -0.45), color=RED, fontsize=10)
    means = "; ".join(f"{n} {v.mean():.1f}, largest {v.max()}" for n, v in found.items())
    layers = "; ".join(f"{n} {v['mean']:.1f}" for n, v in theirs.items())
    told = (
        f"However the step times spread, {workers} workers are about {workers - 1} updates late on "
        "average; the spread only makes the tails"
    )
    if not all(isclose(values.mean(), workers - 1, rel_tol=0.05) for values in found.values()):
        told = f"Not all means lie at N − 1 = {workers - 1} updates: {means}"
    show(
        figure,
        caption=f"{told}. Published: the first layer is read first and updated last, so it "
        "shows the whole delay.",
        alt=f"Left, the distribution of staleness with {workers} workers, means: {means}. Right, "
        f"published means by layer: {layers}. A dashed line in both at {workers - 1}.",
    )


def show_descent(
    paths: Mapping[int, Sequence[float]],
    rate: float,
    limits: Mapping[int, float],
    formula: Mapping[int, float],
) -> None:
    """Paths of late descent at one rate, by staleness; the highest rates that settle, by staleness.

    limits: found by trying. formula: what the theory says.
    """
    figure, (left, right) = axes(columns=2, width=9.2, height=3.5)
    for (late, path), colour, mark in zip(paths.items(), (BLUE, GREEN, RED), "osD", strict=True):
        left.plot(path, color=colour, marker=mark, markevery=5, ms=5, lw=1.4, label=f"τ = {late}")
    left.set(xlabel="update", ylabel="w", ylim=(-4, 4))
    left.set_title(f"rate {rate:g}", fontsize=10)
    left.legend(ncols=3, loc="upper left", fontsize=9)
    right.plot(list(limits), list(limits.values()), **measured(label="found by trying"))
    line = modelled(label="2·sin(π / (4τ + 2))")
    right.plot(list(formula), list(formula.values()), **line)
    right.set(xlabel="staleness τ (updates)", ylabel="highest rate that settles", yscale="log")
    right.set_xscale("symlog", linthresh=1)
    ticks(right.xaxis, [0, 1, 2, 5, 10, 20, 50])
    ticks(right.yaxis, [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2])
    right.legend(fontsize=9)
    ends = "; ".join(f"τ = {late} ends at {path[-1]:.2g}" for late, path in paths.items())
    found = "; ".join(f"τ = {late}: {rate:.3f}" for late, rate in limits.items())
    show(
        figure,
        caption="Late gradients make descent swing, and from some rate on the swing grows. That "
        "rate falls as one over the staleness.",
        alt=f"Left, w against updates at rate {rate:g}: {ends}. Right, the highest rate that "
        f"settles against staleness, both logarithmic: {found}; the formula goes through the "
        "points.",
    )


def show_wobble(
    rates: Sequence[float], wobbles: Mapping[str, Sequence[float]], limit: float
) -> None:
    """How far w still moves at the end, by rate; a series for each staleness and batch.

    limit: the highest rate at which late gradients settle, between the last two rates.
    """
    top = 3
    figure, ax = axes(height=3.4)
    looks = ((BLUE, "o", "-"), (SKY, "s", "--"), (RED, "D", "-"), (ORANGE, "^", "--"))
    for (name, values), (colour, mark, dash) in zip(wobbles.items(), looks, strict=True):
        ax.plot(rates, values, color=colour, marker=mark, linestyle=dash, ms=5, lw=1.4, label=name)
    ax.set(
        xscale="log", yscale="log", xlabel="learning rate", ylabel="w at the end (root mean square)"
    )
    ax.set_ylim(0.005, top)
    ax.axvline(limit, color=GREY, linestyle=":", linewidth=1.5)
    ticks(ax.xaxis, [0.01, 0.02, 0.05, 0.1, 0.2])
    ticks(ax.yaxis, [0.01, 0.1, 1])
    ax.legend(fontsize=9)
    said = []
    for name, values in wobbles.items():
        ends = f"{values[-1]:.3g}" if values[-1] < top else "off the chart"
        said.append(f"{name} {values[0]:.3f}, {values[-2]:.3g}, {ends}")
    show(
        figure,
        caption="Sixteen times the batch is a quarter of the noise. It lowers the curves, and "
        f"leaves the rate at which late gradients diverge where it is, at {limit:.3f} (dotted).",
        alt="Line chart of the rest of w against the learning rate, both logarithmic, at the rates "
        f"{rates[0]:g}, {rates[-2]:g} and {rates[-1]:g}: {'; '.join(said)}. The two curves with "
        f"staleness bend upwards and leave the chart at the same rate, past {limit:.3f}.",
    )


def show_growth(
    errors: Mapping[float, float],
    curves: Mapping[int, Sequence[Point]],
    theirs: Mapping[str, float],
) -> None:
    """Learning curves by staleness; final errors over mean staleness, ours and published ones."""
    figure, (left, middle, right) = axes(columns=3, width=10.4, height=3.5)
    for (late, curve), colour, mark in zip(curves.items(), CYCLE, MARKS, strict=False):
        made = [point.updates for point in curve]
        every = {"markevery": 5, "ms": 4.5, "lw": 1.3}
        left.plot(
            made, [p.error for p in curve], color=colour, marker=mark, label=f"τ ≈ {late}", **every
        )
    left.set(xlabel="updates", ylabel="test error (%)", yscale="log", ylim=(2, 130))
    left.legend(fontsize=8, ncols=2, loc="lower left")
    middle.plot(list(errors), list(errors.values()), **measured(label="digits, on the clock"))
    middle.set(xlabel="mean staleness (updates)", ylabel="final test error (%)", yscale="log")
    middle.set_ylim(2, 130)
    for ax in (left, middle):
        ticks(ax.yaxis, [2, 5, 10, 20, 50, 100])
    known = {float(late): error for late, error in theirs.items()}
    right.plot(list(known), list(known.values()), **published("MNIST, Chen et al. 2017"))
    right.set(xlabel="mean staleness (updates)", ylabel="final test error (%)", ylim=(0, 1.5))
    for ax in (middle, right):
        ax.legend(fontsize=9, loc="upper left")
    ends = "; ".join(f"τ ≈ {late} at {curve[-1].error:.0f}" for late, curve in curves.items())
    ours = "; ".join(f"{late:.1f}: {error:.1f}" for late, error in errors.items())
    published_words = "; ".join(f"{late:g}: {error:.2f}" for late, error in known.items())
    show(
        figure,
        caption="One rate for all, one seed. The error at the end is more than twice that of one "
        f"worker {_doubled(errors)} here, and {_doubled(known)} as published.",
        alt=f"Three charts. Learning curves of four stalenesses, which end, in %: {ends}. Final "
        f"errors in %, by mean staleness, ours: {ours}. Published: {published_words}.",
    )


def _doubled(errors: Mapping[float, float]) -> str:
    first = next(iter(errors.values()))
    found = next((late for late, error in errors.items() if error > 2 * first), None)
    return "nowhere" if found is None else f"from a staleness of {found:.0f} on"


def show_real(real: Mapping[int, np.ndarray], clock: Mapping[int, np.ndarray]) -> None:
    """Staleness on real processes beside the clock's, by workers."""
    figure, panels = axes(columns=len(real), width=9.2, height=3.3)
    said = []
    for ax, (workers, late) in zip(panels, real.items(), strict=True):
        top = 3 * workers
        numbers = np.arange(top + 1)

        def parts(values: np.ndarray, top: int = top) -> np.ndarray:
            return 100 * np.bincount(np.minimum(values, top), minlength=top + 1) / len(values)

        ax.bar(numbers, parts(late), width=0.75, color=SKY, edgecolor=BLUE, label="real processes")
        ax.plot(numbers, parts(clock[workers]), color=RED, marker="_", ms=11, mew=2, ls="none",
                label="virtual clock")  # fmt: skip
        ax.axvline(workers - 1, color=GREY, linestyle=":", linewidth=1.5)
        ax.set(xlabel="staleness (updates)", xlim=(-0.7, top + 0.7))
        ax.set_xticks(range(0, top + 1, workers))
        ax.set_title(
            f"{workers} workers: mean {late.mean():.2f}, N − 1 = {workers - 1}", fontsize=10
        )
        said.append(
            f"{workers} workers: real mean {late.mean():.2f}, largest {late.max()}; clock "
            f"{clock[workers].mean():.2f}, largest {clock[workers].max()}"
        )
    panels[0].set_ylabel("gradients (%)")
    panels[-1].legend(fontsize=8, loc="upper right")
    means = (
        "the mean is N − 1 here too but for start and end, whatever this machine does to the shape"
    )
    off = [n for n, late in real.items() if not isclose(late.mean(), n - 1, rel_tol=0.05)]
    if off:
        means = f"the mean is not N − 1 here with {' and '.join(map(str, off))} workers"
    show(
        figure,
        caption=f"Real processes, real arrivals: {means}. (The last bar holds all that were later "
        "still.)",
        alt=f"Bar charts of staleness. {'. '.join(said)}.",
    )


def draw_traces(runs: Mapping[str, Training], seconds: float, height: float) -> Any:
    """The workers' timelines, a panel a run, by title. height: of a panel, in inches."""
    figure, panels = axes(rows=len(runs), width=8.2, height=height * len(runs))
    for ax, (title, run) in zip(panels, runs.items(), strict=True):
        assert run.trace is not None, "train with trace=True"
        run.trace.plot(ax=ax, title=title, arrows=False)
        ax.set_xlim(0, seconds)
        if ax is not panels[0]:
            ax.get_legend().remove()
    return figure


def show_timelines(runs: Mapping[str, Training], seconds: float) -> None:
    """What four workers did under a synchronous and an asynchronous rule, up to so many seconds."""
    titled = {
        f"{name}: {sum(map(len, run.servers[0].updates))} gradients in {seconds:g} s": run
        for name, run in runs.items()
    }
    made = {name: len(run.staleness) for name, run in runs.items()}
    show(
        draw_traces(titled, seconds, height=2.1),
        caption="The same four workers and step times; the picture numbers workers as ranks. "
        "Synchronous training waits for the slowest in every step; asynchronous training is never "
        "idle.",
        alt=f"Two timelines of four workers over {seconds:g} seconds. Above, synchronous: blocks "
        f"of computing with waiting after them, {made['synchronous']} gradients. Below, "
        f"asynchronous: computing without gaps, {made['asynchronous']} gradients.",
    )
