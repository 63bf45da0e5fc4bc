"""The figures of lesson 14 on experts: which token goes where, and who is chosen how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helpers.lessons.sharding.figures.tensor_parallel_view import PARTS, box, label
from helpers.notebook.figures import show
from helpers.notebook.style import BLACK, CYCLE, GREY, RED, axes

CHOICES = ((1, 0, 2, 0, 0, 1), (2, 0, 0, 3, 0, 1), (3, 0, 1, 0, 2, 0), (0, 3, 1, 0, 2, 0))
"""For each rank, the expert of each of its tokens."""
CAPACITY = 2


def show_to_their_experts() -> None:
    """Each rank's tokens in a row, filled as the expert that they chose, the dropped crossed out;
    below, what each expert gets."""
    ranks = len(CHOICES)
    figure, ax = axes(width=7.2, height=0.9 + ranks)
    got: list[list[int]] = [[] for _ in range(ranks)]
    for rank, row in enumerate(CHOICES):
        for token, expert in enumerate(row):
            dropped = got[expert].count(rank) == CAPACITY
            _token(ax, token, rank, expert, rank, dropped)
            if not dropped:
                got[expert].append(rank)
        label(ax, -0.4, rank, f"tokens of rank {rank}", ha="right", fontsize=10)
    for expert, senders in enumerate(got):
        y = ranks + 0.7 + expert
        for place, rank in enumerate(senders):
            _token(ax, place, y, expert, rank, dropped=False)
        label(ax, -0.4, y, f"to expert {expert}", ha="right", fontsize=10)
    ax.set(xlim=(-2.9, ranks * CAPACITY + 0.6), ylim=(2 * ranks + 0.4, -0.7))
    ax.axis("off")
    show(
        figure,
        caption="A rank may send each expert two tokens here. The third one for expert 0 is "
        "dropped on every rank, and still expert 0 has most to do.",
        alt="Four rows of six boxes, the tokens of four ranks, filled by the expert that "
        "they chose; one box in each row is crossed out. Below, what each expert gets: "
        "expert 0 eight tokens, two from each rank, expert 1 five, expert 2 four, "
        "expert 3 three.",
    )


def _token(ax: Any, x: float, y: float, expert: int, rank: int, dropped: bool) -> None:
    """A box filled as its expert, with the number of its rank; crossed out where it is dropped."""
    fill = {"facecolor": "white"} if dropped else {}
    box(ax, x, y - 0.36, 0.8, 0.72, **PARTS[expert] | fill, edgecolor=GREY if dropped else BLACK)
    label(ax, x + 0.4, y, str(rank), ground=True, fontsize=8)
    if dropped:
        for ends in ((y - 0.36, y + 0.36), (y + 0.36, y - 0.36)):
            ax.plot([x, x + 0.8], ends, color=RED, linewidth=1.6)


def show_experts(runs: Mapping[str, tuple[Sequence[Sequence[float]], float]]) -> None:
    """The share of tokens that chose each expert, over steps: a panel a run, a line an expert.

    runs: by name, for each step the experts' shares; and the part that was dropped in the end.
    """
    figure, panels = axes(columns=len(runs), width=7.2, height=3.3)
    for ax, (name, (steps, _)) in zip(panels, runs.items(), strict=True):
        for expert, line in enumerate(zip(*steps, strict=True)):
            how = {"color": CYCLE[expert % len(CYCLE)], "linestyle": "-" if expert % 2 else "--"}
            ax.plot([100 * each for each in line], **how, linewidth=1.1, label=f"expert {expert}")
        equal = 100 / len(steps[0])
        ax.axhline(equal, color=GREY, linestyle=":", linewidth=2.4, label="an equal share")
        ax.set(xlabel="step", ylim=(0, 60))
        ax.set_title(name)
    panels[0].set_ylabel("tokens that chose it, %")
    lines = panels[-1].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=5, fontsize=9, frameon=False)
    told = " and ".join(f"{100 * dropped:.0f} %" for _, dropped in runs.values())
    said = " and ".join(f"{100 * max(shares[-1]):.0f} %" for shares, _ in runs.values())
    show(
        figure,
        caption=f"Eight experts, trained on the digits. In the last 20 steps {told} of the "
        "tokens are dropped, without the balancing loss and with it.",
        alt="Two panels, percent of tokens that chose each of eight experts over 80 steps, "
        "and a dotted line at the equal share, 12.5 %. The largest share in the last "
        f"step is {said}, with the task's loss alone and with the balancing loss.",
    )
