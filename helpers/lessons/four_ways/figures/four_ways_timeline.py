"""A timeline of gradients in a training with TensorFlow: whose, how long, how stale, dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helpers.lessons.four_ways.experiments.record import Gradient
from helpers.lessons.four_ways.experiments.runs import WayRun
from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, GREY, ORANGE, axes, style


def show_gradients(runs: Mapping[str, WayRun], seconds: float, caption: str) -> None:
    """Show what workers did for some seconds out of the middle of each run.

    runs: by title, drawn one above the other. A bar is a worker's step, with its wait for others
    where it waits; the number in it is the gradient's staleness, where it has any.
    """
    show(draw_gradients(runs, seconds), caption, gradients_alt(runs, seconds))


def draw_gradients(runs: Mapping[str, WayRun], seconds: float) -> Any:
    """The figure of `show_gradients`."""
    height = sum(0.34 * run.workers + 0.75 for run in runs.values())
    figure, panels = axes(rows=len(runs), width=9.0, height=height + 0.5)
    rows = list(panels) if len(runs) > 1 else [panels]
    with style():
        for ax, (title, run) in zip(rows, runs.items(), strict=True):
            start = middle(run, seconds)
            for each in seen(run, seconds):
                _bar(ax, each, start, seconds)
            ax.set_xlim(0, 1e3 * seconds)
            ax.set_ylim(run.workers - 0.5, -0.5)
            ax.set_yticks(range(run.workers), [f"worker {w}" for w in range(run.workers)])
            ax.set_title(title, loc="left")
            ax.grid(axis="y", visible=False)
        rows[-1].set_xlabel("time (ms)")
    return figure


def middle(run: WayRun, seconds: float) -> float:
    """Where the piece that is shown begins: so that it lies in the middle of the run."""
    begin, end = run.gradients[0].end, run.gradients[-1].end
    return max(begin, (begin + end - seconds) / 2)


def seen(run: WayRun, seconds: float) -> list[Gradient]:
    """The gradients that reach into the piece that is shown."""
    start = middle(run, seconds)
    return [g for g in run.gradients if g.end > start and g.start < start + seconds]


def gradients_alt(runs: Mapping[str, WayRun], seconds: float) -> str:
    """What the figure shows, in words and numbers."""
    parts = []
    for title, run in runs.items():
        shown = seen(run, seconds)
        each = [sum(g.worker == w for g in shown) for w in range(run.workers)]
        stale = [g.staleness for g in shown if g.counted]
        late = sum(not g.counted for g in shown)
        parts.append(
            f"{title}: {', '.join(map(str, each))} gradients of workers 0 to {run.workers - 1}, "
            f"staleness up to {max(stale, default=0)}, {late} dropped."
        )
    return f"Timeline of {1e3 * seconds:.0f} ms of each run. " + " ".join(parts)


def _bar(ax: Any, each: Gradient, start: float, seconds: float) -> None:
    begin, end = (1e3 * (t - start) for t in (each.start, each.end))
    colour = GREY if not each.counted else ORANGE if each.staleness else BLUE
    look: dict[str, Any] = {"hatch": "////"} if not each.counted else {}
    ax.barh(
        each.worker,
        end - begin,
        left=begin,
        height=0.62,
        color=colour,
        alpha=0.75,
        edgecolor="white",
        linewidth=0.8,
        **look,
    )
    text = str(each.staleness or "") if each.counted else "dropped"
    inside = (min(end, 1e3 * seconds) - max(begin, 0)) / (1e3 * seconds)
    if inside > 0.012 * (1 + len(text)):
        x = (max(begin, 0) + min(end, 1e3 * seconds)) / 2
        ax.text(x, each.worker, text, ha="center", va="center", fontsize=8)


def show_step_gradients(runs: Mapping[str, WayRun], spared: WayRun) -> None:
    """Gradients of three runs with a slow worker. spared: the one with 2 of 3."""
    show_gradients(
        runs,
        seconds=0.25,
        caption="A quarter of a second. With 3 of 3 everybody waits for worker 2. With 2 of 3 "
        "the others need not, and what comes late is dropped (hatched): "
        f"{spared.dropped[2]} of the {spared.counted[2] + spared.dropped[2]} gradients "
        "that worker 2 gave in the whole run. Asynchronously each is applied, as stale "
        "as the number in its bar.",
    )
