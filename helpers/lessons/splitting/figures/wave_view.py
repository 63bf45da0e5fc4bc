"""Figures of the wave: cells and their ticks, and what ranks worked on when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.engine.trace import Trace
from helpers.lessons.splitting.figures.split_view import RANK_COLOURS
from helpers.notebook.figures import show
from helpers.notebook.style import GREEN, RED, SKY, axes, rows

EDGE: dict[str, Any] = {"edgecolor": "#444444", "linewidth": 0.5}


def show_wave(layers: int, steps: int, ranks: int) -> None:
    """The cells of a deep recurrent network, numbered by the tick in which they can run."""
    from helpers.lessons.messages.algorithms.collectives import chunk_bounds
    from helpers.lessons.splitting.algorithms.wave import diagonal

    figure, ax = axes(height=1.1 + 0.45 * layers)
    bounds = chunk_bounds(layers, ranks)
    rank_of = {layer: r for r, (a, b) in enumerate(bounds) for layer in range(a, b)}
    for tick, cells in enumerate(diagonal(layers, steps)):
        for layer, step in cells:
            look = {"color": RANK_COLOURS[rank_of[layer] % 4], **EDGE}
            ax.barh(layer, 0.9, 0.82, left=step + 0.05, **look)
            ax.text(step + 0.5, layer, str(tick), ha="center", va="center", fontsize=10)
    for start, _ in bounds[1:]:
        ax.axhline(start - 0.5, color=RED, linewidth=2)
    ax.set_yticks(range(layers), [f"layer {n} (rank {rank_of[n]})" for n in range(layers)])
    ax.set_xticks(np.arange(steps) + 0.5, [str(n) for n in range(steps)])
    ax.set(xlim=(0, steps), ylim=(-0.5, layers - 0.5), xlabel="time step of the sequence")
    ax.grid(visible=False)
    show(
        figure,
        caption="The number in a cell is the first tick in which it can run. Cells with one "
        "number, on a diagonal, can run at the same time; red is where values cross.",
        alt=f"A grid of {layers} layers by {steps} time steps; each cell holds layer + step, from "
        f"0 at the lower left to {layers + steps - 2} at the upper right, so equal numbers lie on "
        f"diagonals. Layers belong to {ranks} ranks.",
    )


def show_chunks(ran: Sequence[Sequence[Any]], speedup: float) -> None:
    """What each rank worked on and when: a bar a chunk, with its number.

    ran: for each rank the `Wave.ran` of one step, on a common clock.
    """
    figure, ax = axes(height=1.3 + 0.6 * len(ran))
    begin = min(each.start for rank in ran for each in rank)
    span = max(each.end for rank in ran for each in rank) - begin
    looks = {"forward": {"color": SKY}, "backward": {"color": GREEN, "hatch": "\\\\\\"}}
    for rank, chunks in enumerate(ran):
        for each in chunks:
            label = each.kind if rank == 0 and each.chunk == 0 else ""
            left, width = 1e3 * (each.start - begin), 1e3 * (each.end - each.start)
            ax.barh(rank, width, 0.6, left=left, label=label, **looks[each.kind], **EDGE)
            if each.end - each.start > 0.025 * span:
                box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
                middle = {"ha": "center", "va": "center", "fontsize": 8, "bbox": box}
                ax.text(left + width / 2, rank, each.chunk, **middle)
    rows(ax, [f"rank {rank}" for rank in range(len(ran))])
    ax.set(xlim=(0, 1e3 * span * 1.01), xlabel="time (ms)")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2)
    idle = ", ".join(
        f"rank {rank} in {100 * (1 - sum(each.end - each.start for each in chunks) / span):.0f} %"
        for rank, chunks in enumerate(ran)
    )
    show(
        figure,
        caption="One training step on real ranks, a bar a chunk of time steps. Where a rank has "
        f"no bar it waits for the other or sends: {idle} of the step.",
        alt=f"Timeline of {len(ran)} ranks over {1e3 * span:.0f} ms. Each works on chunks 0 to "
        f"{max(each.chunk for each in ran[0])} forward and then back; rank 1 runs one chunk behind "
        f"rank 0, then one ahead. Two ranks were {speedup:.2f} times as quick as one.",
    )


def show_on_clock(trace: Trace, chunks: int, took: float) -> None:
    """Four recurrent layers on four ranks, with so many chunks. took: seconds."""
    many = f"{chunks} chunk{'s' if chunks > 1 else ''}"
    show(
        trace.plot(arrows=False),
        caption=f"Four layers on four ranks, 24 steps, {many}: {1e3 * took:.0f} ms; one rank would "
        "take 96 ms.",
        alt=f"Timeline of four ranks on the virtual clock, {many}: each rank begins one chunk "
        f"after the one before, and the last ends at {1e3 * took:.0f} ms.",
    )
