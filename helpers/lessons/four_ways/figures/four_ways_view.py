"""Figures of the four ways to train with TensorFlow: how quick, how stale, how good."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from helpers.lessons.four_ways.experiments.runs import WAYS, WayRun
from helpers.notebook.style import BLUE, GREEN, ORANGE, RED, axes, style

_LOOK = {
    "in-graph sync": (BLUE, "-"),
    "between-graph sync": (GREEN, "--"),
    "in-graph async": (ORANGE, "-"),
    "between-graph async": (RED, "--"),
}


def four_figure(runs: Sequence[WayRun]) -> Any:
    """Steps a second, staleness and final loss of each way, in one figure.

    runs: one or more of a way; a bar goes to the median, a dot is a run. Staleness is the mean over
    the gradients of a run, and the number beside it the highest of any.
    """
    figure, panels = axes(columns=3, width=9.0, height=0.42 * len(_ways(runs)) + 1.15)
    titles = ("steps a second", "mean staleness (updates)", "final loss (nats)")
    values = (
        lambda run: run.steps_per_second,
        lambda run: sum(run.staleness) / max(1, len(run.staleness)),
        lambda run: run.loss,
    )
    with style():
        for ax, title, value in zip(panels, titles, values, strict=True):
            for row, way in enumerate(_ways(runs)):
                found = [value(run) for run in runs if run.way == way]
                ax.barh(row, median(found), height=0.55, color=_LOOK[way][0], alpha=0.55)
                ax.plot(found, [row] * len(found), "o", color=_LOOK[way][0], markersize=5)
            ax.set_xlabel(title)
            ax.set_ylim(len(_ways(runs)) - 0.5, -0.5)
            ax.set_yticks(range(len(_ways(runs))), [""] * len(_ways(runs)))
            ax.set_xlim(left=0)
            ax.grid(axis="y", visible=False)
        panels[0].set_yticks(range(len(_ways(runs))), _ways(runs))
        _highest(panels[1], runs)
    return figure


def _highest(ax: Any, runs: Sequence[WayRun]) -> None:
    """Beside the bars of staleness, the highest that was seen."""
    right = ax.get_xlim()[1]
    ax.set_xlim(right=max(right * 1.35, 0.5))
    for row, way in enumerate(_ways(runs)):
        mine = [run for run in runs if run.way == way]
        means = [sum(run.staleness) / max(1, len(run.staleness)) for run in mine]
        highest = max((stale for run in mine for stale in run.staleness), default=0)
        x = max(means) + 0.04 * ax.get_xlim()[1]
        ax.text(x, row, f"max. {highest}", va="center", fontsize=9)


def loss_figure(runs: Sequence[WayRun], smooth: int = 12) -> Any:
    """The batches' loss over the batches that all workers have computed, a curve a way.

    runs: one of a way. smooth: over how many batches a point is the mean.
    """
    figure, ax = axes(width=7.0, height=3.4)
    with style():
        for run in runs:
            losses = [each.loss for each in run.gradients]
            ends = range(smooth, len(losses) + 1)
            means = [sum(losses[end - smooth : end]) / smooth for end in ends]
            colour, line = _LOOK[run.way]
            ax.plot(ends, means, color=colour, linestyle=line, label=run.way)
        ax.set_xlabel("batches computed by all workers")
        ax.set_ylabel("loss of the batch (nats)")
        ax.set_ylim(bottom=0)
        ax.legend()
    return figure


def four_alt(runs: Sequence[WayRun]) -> str:
    """What `four_figure` shows, in words and numbers."""
    parts = []
    for way in _ways(runs):
        mine = [run for run in runs if run.way == way]
        rate = median(run.steps_per_second for run in mine)
        stale = median(sum(run.staleness) / max(1, len(run.staleness)) for run in mine)
        loss = median(run.loss for run in mine)
        parts.append(f"{way}: {rate:.0f} steps a second, staleness {stale:.1f}, loss {loss:.2f}")
    first = "Bars of the four ways: steps a second, mean staleness in updates, final loss in nats."
    return f"{first} {'; '.join(parts)}."


def loss_alt(runs: Sequence[WayRun], smooth: int = 12) -> str:
    """What `loss_figure` shows, in words and numbers."""
    parts = []
    for run in runs:
        losses = [each.loss for each in run.gradients]
        first, last = (sum(part) / len(part) for part in (losses[:smooth], losses[-smooth:]))
        parts.append(f"{run.way}: from {first:.2f} to {last:.2f}")
    return f"Line chart of the batches' loss in nats. {'; '.join(parts)}."


def _ways(runs: Sequence[WayRun]) -> list[str]:
    """The ways that were run, the synchronous ones first."""
    found = {run.way for run in runs}
    return [way for way in _LOOK if way in found and way in WAYS]
