"""The figures of lesson 14 on attention in a ring: whose keys are where, and who works when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from helpers.engine.trace import Trace
from helpers.lessons.sharding.figures.tensor_parallel_view import PARTS
from helpers.notebook.figures import show
from helpers.notebook.style import BLACK, GREY, axes
from helpers.notebook.timeline import timeline

if TYPE_CHECKING:
    from helpers.engine.trace import Trace


def round_the_ring(ranks: int = 4) -> Any:
    """Which rank's keys and values each rank works on in each step: a row a rank."""
    from matplotlib.patches import Rectangle

    figure, ax = axes(width=6.8, height=0.6 + 0.55 * ranks)
    for rank in range(ranks):
        for step in range(ranks):
            source = (rank - step) % ranks
            look = PARTS[source % len(PARTS)]
            ax.add_patch(Rectangle((step, rank - 0.36), 0.7, 0.72, edgecolor=BLACK, **look))
            said = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
            place = {"ha": "center", "va": "center", "fontsize": 9}
            ax.text(step + 0.35, rank, f"k, v of {source}", bbox=said, **place)
            if step < ranks - 1:
                _passes(ax, rank, step, ranks)
    ax.set(xlim=(-0.05, ranks - 0.25), ylim=(ranks - 0.4, -0.6))
    ax.set_yticks(range(ranks), [f"rank {r}: q of {r}" for r in range(ranks)])
    ax.set_xticks([step + 0.35 for step in range(ranks)], [f"step {s}" for s in range(ranks)])
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(length=0)
    return figure


def _passes(ax: Any, rank: int, step: int, ranks: int) -> None:
    """An arrow to the next rank's next step; from the last to the first, one out and one in."""
    look = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    left, right = step + 0.7, step + 1.0
    if rank < ranks - 1:
        ax.annotate("", xy=(right, rank + 0.8), xytext=(left, rank + 0.2), arrowprops=look)
    else:
        ax.plot([left, left + 0.12], [rank + 0.2, rank + 0.42], color=GREY, linewidth=1.2)
        ax.annotate("", xy=(right, -0.2), xytext=(right - 0.12, -0.42), arrowprops=look)


def side_by_side(traces: Mapping[str, Trace]) -> Any:
    """Timelines of some runs one under the other, on one scale of time, by name."""
    size = max(trace.size for trace in traces.values())
    figure, panels = axes(rows=len(traces), width=7.0, height=len(traces) * (0.9 + 0.36 * size))
    longest = max(trace.duration for trace in traces.values())
    for ax, (name, trace) in zip(panels, traces.items(), strict=True):
        timeline(trace, arrows=False, title=f"{name}: {1e3 * trace.duration:.1f} ms", ax=ax)
        ax.set_xlim(0, 1e3 * longest)
        if ax is not panels[-1]:
            ax.set_xlabel("")
        if ax is not panels[0] and ax.get_legend() is not None:
            ax.get_legend().remove()
    return figure


def show_round_the_ring() -> None:
    """Whose keys each of four ranks works on, step by step."""
    show(
        round_the_ring(4),
        caption="Queries stay, keys and values go round: each block is everywhere once.",
        alt="A table with a row for each of four ranks and a column for each of four "
        "steps. In step 0 each rank works on its own keys and values; in every further "
        "step on those that its left neighbour had in the step before.",
    )


def show_dealt(traces: Mapping[str, Trace]) -> None:
    """Attention in a ring with positions in order, and dealt out in turn."""
    show(
        side_by_side(traces),
        caption="In order, rank 0 has a seventh of the last rank's work, and waits; dealt out "
        "in turn, all work alike. 4 A100 over NVLink on the clock, 8,192 positions "
        "each.",
        alt="Two timelines of four ranks. With positions in order rank 0 has one short box "
        "and then waits, each further rank has one more long box, and rank 3 computes "
        f"to the end, {1e3 * traces['positions in order'].duration:.1f} ms. Dealt "
        "out in turn all four ranks have four equal boxes and end at "
        f"{1e3 * traces['positions dealt out in turn'].duration:.1f} ms.",
    )
