"""Rows of bars: what each of some workers did when, a panel a run, one above the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from helpers.notebook.style import BLACK, axes, rows, style
from helpers.notebook.timeline import unit_of

UPDATE: dict[str, Any] = {"color": BLACK, "linewidth": 1.2, "linestyle": "--"}


class Bar(NamedTuple):
    """A stretch of a worker's time, in seconds. text: in its middle, where there is room."""

    worker: int
    start: float
    end: float
    look: Mapping[str, Any]
    text: str = ""


class Timeline(NamedTuple):
    """A row for each of so many workers. updates: when each was made, in seconds."""

    workers: int
    bars: Sequence[Bar]
    updates: Sequence[float] = ()


def draw_timelines(
    panels: Mapping[str, Timeline],
    until: float,
    legend: Mapping[str, Mapping[str, Any]] | None = None,
    clock: str = "time",
) -> Any:
    """Timelines one above the other, by title, with a dashed line at every update.

    until: in seconds, where the picture ends. legend: by name, how bars look. clock: what the axis
    counts. Returns: the figure.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    heights = [0.95 + 0.36 * panel.workers for panel in panels.values()]
    figure, grid = axes(rows=len(panels), width=9.0, height=sum(heights))
    scale, unit = unit_of(until)
    for ax, (title, panel) in zip(np.atleast_1d(grid), panels.items(), strict=True):
        with style():
            for bar in panel.bars:
                if bar.end > 0 and bar.start < until:
                    _draw(ax, bar, until, scale)
            for moment in panel.updates:
                if 0 < moment <= until:
                    ax.axvline(moment / scale, zorder=3, **UPDATE)
            rows(ax, [f"worker {worker}" for worker in range(panel.workers)])
            ax.set_title(title)
            ax.set_xlim(0, until / scale)
    ax.set_xlabel(f"{clock} ({unit})")
    if legend:
        handles: list[Any] = [
            Patch(label=name, **{"edgecolor": "#444444", **look}) for name, look in legend.items()
        ]
        if any(panel.updates for panel in panels.values()):
            handles.append(Line2D([], [], label="update", **UPDATE))
        figure.legend(handles=handles, loc="outside upper left", ncols=4, frameon=False)
    return figure


def _draw(ax: Any, bar: Bar, until: float, scale: float) -> None:
    look = {"edgecolor": "#444444", "linewidth": 0.8, **bar.look}
    width = (bar.end - bar.start) / scale
    ax.barh(bar.worker, width, height=0.6, left=bar.start / scale, **look)
    start, end = max(bar.start, 0.0), min(bar.end, until)
    if bar.text and (end - start) / until > 0.012 * (1 + len(bar.text)):
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        place: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8, "bbox": box}
        ax.text((start + end) / 2 / scale, bar.worker, bar.text, **place)
