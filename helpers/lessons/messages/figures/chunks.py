"""Pictures of how an all-reduce cuts a tensor up: round a ring, and in shared memory."""

from __future__ import annotations

from typing import Any

from helpers.notebook.figures import show
from helpers.notebook.style import BLUE, CYCLE, ORANGE, axes, style

State = list[list[frozenset[int]]]
"""state[rank][chunk]: the ranks whose values that rank's chunk has added up so far."""


def ring_states(size: int) -> list[State]:
    """What every rank holds at the start of a ring all-reduce and after each of its steps.

    2(N − 1) steps: reduce-scatter, after which rank r holds chunk r of the sum, then all-gather.
    """
    state: State = [[frozenset({rank}) for _ in range(size)] for rank in range(size)]
    states = [state]
    for step in range(2 * (size - 1)):
        before, state = state, [list(row) for row in state]
        for rank in range(size):
            left, chunk = (rank - 1) % size, sent_chunk(rank - 1, step, size)
            came = before[left][chunk]
            state[rank][chunk] = came | before[rank][chunk] if step < size - 1 else came
        states.append(state)
    return states


def sent_chunk(rank: int, step: int, size: int) -> int:
    """The chunk that a rank sends to its right in a step, counted from 0."""
    first = -1 if step < size - 1 else size - 1
    return (rank - step + first) % size


def ring_picture(size: int = 4) -> Any:
    """A panel for the start and for each step of a ring: rows are ranks, columns are chunks.

    A cell says how many ranks' values it adds up, Σ once it is the sum; a thick frame marks what
    the rank sends next, to the rank below (the last one to the first). Returns the figure.
    """
    states = ring_states(size)
    figure, panels = axes(columns=size, rows=2, width=7.2, height=4.3)
    with style():
        for step, state in enumerate(states):
            row, column = (0, step) if step < size else (1, step - size + 1)
            panel = panels[row][column]
            _grid(panel, size, rows="rank" if column == (1 if row else 0) else "")
            panel.set_title("start" if step == 0 else f"after step {step}", fontsize=10)
            for rank in range(size):
                for chunk in range(size):
                    _count(panel, rank, chunk, len(state[rank][chunk]), size)
                if step < len(states) - 1:
                    _frame(panel, rank, sent_chunk(rank, step, size))
        _key(panels[1][0], size)
    return figure


def _grid(panel: Any, size: int, rows: str) -> None:
    panel.set_xlim(-0.5, size - 0.5)
    panel.set_ylim(size - 0.5, -0.5)
    panel.set_aspect("equal")
    panel.grid(False)
    panel.tick_params(length=0, labelsize=9)
    panel.set_xticks(range(size))
    panel.set_yticks(range(size), [f"{rows} {r}" for r in range(size)] if rows else [""] * size)
    for side in panel.spines.values():
        side.set_visible(False)


def _count(panel: Any, rank: int, chunk: int, count: int, size: int) -> None:
    from matplotlib.patches import Rectangle

    full = count == size
    shade = BLUE if full else f"{0.97 - 0.5 * (count - 1) / max(size - 1, 1):.3f}"
    panel.add_patch(
        Rectangle((chunk - 0.46, rank - 0.46), 0.92, 0.92, facecolor=shade, edgecolor="#999999")
    )
    panel.text(
        chunk,
        rank,
        "Σ" if full else str(count),
        ha="center",
        va="center",
        fontsize=10,
        color="white" if full else "black",
    )


def _frame(panel: Any, rank: int, chunk: int) -> None:
    from matplotlib.patches import Rectangle

    panel.add_patch(
        Rectangle((chunk - 0.44, rank - 0.44), 0.88, 0.88, fill=False, edgecolor=ORANGE, lw=2.6)
    )


def _key(panel: Any, size: int) -> None:
    panel.axis("off")
    words = (
        "columns: chunks\n"
        "number: how many\nranks are added up\n"
        f"Σ: all {size} of them\n"
        "orange: sent next,\nto the rank below"
    )
    panel.text(0, 0.5, words, va="center", fontsize=9, transform=panel.transAxes, linespacing=1.5)


def slices_picture(size: int = 4) -> Any:
    """Which rank works where in a shared-memory all-reduce: rows are buffers, columns slices."""
    from matplotlib.patches import Rectangle

    figure, panel = axes(width=5.6, height=2.6)
    with style():
        panel.set_xlim(-0.5, size - 0.5)
        panel.set_ylim(size - 0.5, -0.5)
        panel.grid(False)
        panel.tick_params(length=0)
        panel.set_xticks(range(size), [f"slice {s}" for s in range(size)])
        panel.set_yticks(range(size), [f"buffer {r}" for r in range(size)])
        for side in panel.spines.values():
            side.set_visible(False)
        for worker in range(size):
            colour = CYCLE[worker % len(CYCLE)]
            for buffer in range(size):
                corner = (worker - 0.47, buffer - 0.44)
                box = Rectangle(
                    corner, 0.94, 0.88, facecolor=colour, alpha=0.3, edgecolor="#555555"
                )
                panel.add_patch(box)
                panel.text(worker, buffer, f"rank {worker}", ha="center", va="center", fontsize=10)
    return figure


def show_ring() -> None:
    """A ring on four ranks, step by step."""
    show(
        ring_picture(4),
        caption="A ring on 4 ranks: three steps that add, three steps that copy. In every step "
        "every rank sends one chunk, a quarter of the tensor.",
        alt="Seven grids of four ranks by four chunks. At the start each cell counts 1 "
        "rank. After step 3 rank r's chunk r is the sum of all 4; after step 6 every "
        "cell is the sum.",
    )


def show_slices() -> None:
    """Who works where in shared memory."""
    show(
        slices_picture(4),
        caption="Who works where: each rank reads and writes one slice, in every buffer, so "
        "that no two ranks ever touch the same place.",
        alt="A grid of four buffers by four slices. Rank 0 works in slice 0 of all four "
        "buffers, rank 1 in slice 1, rank 2 in slice 2, rank 3 in slice 3.",
    )
