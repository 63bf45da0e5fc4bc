"""The figures of lesson 14 on attention in a ring: whose keys are where, and who works when."""

from __future__ import annotations

from collections.abc import Mapping

from helpers.engine.trace import Trace
from helpers.lessons.sharding.figures.tensor_parallel_view import PARTS, arrow, box, label
from helpers.notebook.figures import show
from helpers.notebook.style import GREY, axes
from helpers.notebook.timeline import timeline

RANKS = 4


def show_round_the_ring() -> None:
    """Which rank's keys and values each rank works on in each step: a row a rank."""
    figure, ax = axes(width=6.8, height=0.6 + 0.55 * RANKS)
    for rank in range(RANKS):
        for step in range(RANKS):
            source = (rank - step) % RANKS
            box(ax, step, rank - 0.36, 0.7, 0.72, **PARTS[source])
            label(ax, step + 0.35, rank, f"k, v of {source}", ground=True)
            left, right = step + 0.7, step + 1.0
            if step == RANKS - 1:
                continue
            if rank < RANKS - 1:  # to the next rank's next step
                arrow(ax, (left, rank + 0.2), (right, rank + 0.8), color=GREY)
            else:  # from the last rank to the first: out at the bottom, and in at the top
                ax.plot([left, left + 0.12], [rank + 0.2, rank + 0.42], color=GREY, linewidth=1.2)
                arrow(ax, (right - 0.12, -0.42), (right, -0.2), color=GREY)
    ax.set(xlim=(-0.05, RANKS - 0.25), ylim=(RANKS - 0.4, -0.6))
    ax.set_yticks(range(RANKS), [f"rank {r}: q of {r}" for r in range(RANKS)])
    ax.set_xticks([step + 0.35 for step in range(RANKS)], [f"step {s}" for s in range(RANKS)])
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    show(
        figure,
        caption="Queries stay, keys and values go round: each block is everywhere once.",
        alt="A table with a row for each of four ranks and a column for each of four "
        "steps. In step 0 each rank works on its own keys and values; in every further "
        "step on those that its left neighbour had in the step before.",
    )


def show_dealt(traces: Mapping[str, Trace]) -> None:
    """Attention in a ring with positions in order, and dealt out in turn: one scale of time."""
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
    in_order, in_turn = (1e3 * trace.duration for trace in traces.values())
    show(
        figure,
        caption="In order, rank 0 has a seventh of the last rank's work, and waits; dealt out "
        "in turn, all work alike. 4 A100 over NVLink on the clock, 8,192 positions "
        "each.",
        alt="Two timelines of four ranks. With positions in order rank 0 has one short box "
        "and then waits, each further rank has one more long box, and rank 3 computes "
        f"to the end, {in_order:.1f} ms. Dealt out in turn all four ranks have four equal boxes "
        f"and end at {in_turn:.1f} ms.",
    )
