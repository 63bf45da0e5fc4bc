"""The knobs of lesson 08: what workers, a slow one and a client cost in each of the four ways."""

from __future__ import annotations

from typing import Any

from helpers.lessons.four_ways.experiments.four_ways_clock import WAYS, Modelled, model
from helpers.notebook.style import BLUE, GREEN, ORANGE, RED, axes, style

_COLOURS = dict(zip(WAYS, (BLUE, GREEN, ORANGE, RED), strict=True))


def ways(workers: int, compute_ms: float, client_ms: float, slow: float) -> list[Modelled]:
    """The four ways with these knobs."""
    return [model(way, workers, compute_ms / 1e3, client_ms / 1e3, slow) for way in WAYS]


def draw_ways(workers: int, compute_ms: float, client_ms: float, slow: float) -> Any:
    """Batches a second and mean staleness of the four ways, in two panels."""
    found = ways(workers, compute_ms, client_ms, slow)
    figure, panels = axes(columns=2, width=9.0, height=2.7)
    with style():
        for ax, values, digits in (
            (panels[0], [each.batches for each in found], 0),
            (panels[1], [each.staleness for each in found], 1),
        ):
            for row, (each, value) in enumerate(zip(found, values, strict=True)):
                ax.barh(row, value, height=0.55, color=_COLOURS[each.way], alpha=0.6)
                ax.text(value, row, f" {value:.{digits}f}", va="center", fontsize=9)
            ax.set_yticks(range(4), [""] * 4)
            ax.set_ylim(3.5, -0.5)
            ax.set_xlim(0, 1.2 * max(max(values), 0.1))
            ax.grid(axis="y", visible=False)
        panels[0].set_yticks(range(4), list(WAYS))
        panels[0].set_xlabel("batches a second (modelled)")
        panels[1].set_xlabel("mean staleness (updates, modelled)")
    return figure


def ways_alt(workers: int, compute_ms: float, client_ms: float, slow: float) -> str:
    """The same in words and numbers."""
    told = [
        f"{each.way} {each.batches:.0f} batches a second, staleness {each.staleness:.1f}"
        for each in ways(workers, compute_ms, client_ms, slow)
    ]
    return f"Bars for {workers} workers: {'; '.join(told)}."
