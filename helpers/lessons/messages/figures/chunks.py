"""Pictures of how an all-reduce cuts a tensor up: round a ring, and in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
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


def show_ring() -> None:
    """A ring on four ranks: a panel for the start and for each step, rows are ranks.

    A cell says how many ranks' values it adds up, Σ once it is the sum; a thick frame marks what
    the rank sends next, to the rank below (the last one to the first).
    """
    states = ring_states(4)
    figure, panels = axes(columns=4, rows=2, width=7.2, height=4.3)
    key = panels[1][0]
    with style():
        for step, state in enumerate(states):
            panel = panels.flat[step if step < 4 else step + 1]  # the key stands between them
            _board(panel, range(4), [f"rank {r}" if step in (0, 4) else "" for r in range(4)])
            panel.set_aspect("equal")
            panel.set_title("start" if step == 0 else f"after step {step}", fontsize=10)
            for rank, row in enumerate(state):
                for chunk, ranks in enumerate(row):
                    full, shade = len(ranks) == 4, f"{0.97 - 0.5 * (len(ranks) - 1) / 3:.3f}"
                    words, colour = ("Σ", "white") if full else (str(len(ranks)), "black")
                    look: dict[str, Any] = {
                        "facecolor": BLUE if full else shade,
                        "edgecolor": "#999999",
                    }
                    _cell(panel, chunk, rank, words, colour, **look)
                if step < 6:
                    frame: dict[str, Any] = {"fill": False, "edgecolor": ORANGE, "linewidth": 2.6}
                    _cell(panel, sent_chunk(rank, step, 4), rank, "", **frame)
        key.axis("off")
        words = (
            "columns: chunks\n"
            "number: how many\nranks are added up\n"
            "Σ: all 4 of them\n"
            "orange: sent next,\nto the rank below"
        )
        key.text(0, 0.5, words, va="center", fontsize=9, transform=key.transAxes, linespacing=1.5)
    show(
        figure,
        caption="A ring on 4 ranks: three steps that add, three steps that copy. In every step "
        "every rank sends one chunk, a quarter of the tensor.",
        alt="Seven grids of four ranks by four chunks. At the start each cell counts 1 "
        "rank. After step 3 rank r's chunk r is the sum of all 4; after step 6 every "
        "cell is the sum.",
    )


def show_slices() -> None:
    """Which rank works where in shared memory: rows are buffers, columns slices."""
    figure, panel = axes(width=5.6, height=2.6)
    with style():
        _board(panel, [f"slice {s}" for s in range(4)], [f"buffer {r}" for r in range(4)])
        for worker in range(4):
            for buffer in range(4):
                look: dict[str, Any] = {
                    "facecolor": CYCLE[worker],
                    "alpha": 0.3,
                    "edgecolor": "#555555",
                }
                _cell(panel, worker, buffer, f"rank {worker}", **look)
    show(
        figure,
        caption="Who works where: each rank reads and writes one slice, in every buffer, so "
        "that no two ranks ever touch the same place.",
        alt="A grid of four buffers by four slices. Rank 0 works in slice 0 of all four "
        "buffers, rank 1 in slice 1, rank 2 in slice 2, rank 3 in slice 3.",
    )


def _board(panel: Any, across: Sequence[Any], down: Sequence[str]) -> None:
    """Names of columns and rows for cells at whole numbers, and nothing else."""
    panel.set(xlim=(-0.5, len(across) - 0.5), ylim=(len(down) - 0.5, -0.5))
    panel.grid(False)
    panel.tick_params(length=0, labelsize=9)
    panel.set_xticks(range(len(across)), across)
    panel.set_yticks(range(len(down)), down)
    panel.spines[:].set_visible(False)


def _cell(
    panel: Any, column: int, row: int, words: str, colour: str = "black", **look: Any
) -> None:
    from matplotlib.patches import Rectangle

    panel.add_patch(Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, **look))
    panel.text(column, row, words, ha="center", va="center", fontsize=10, color=colour)
