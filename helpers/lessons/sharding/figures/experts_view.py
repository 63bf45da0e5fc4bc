"""The figures of lesson 14 on experts: which token goes where, and who is chosen how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helpers.lessons.sharding.figures.tensor_parallel_view import PARTS
from helpers.notebook.style import BLACK, BLUE, GREY, RED, axes


def to_their_experts(choices: Sequence[Sequence[int]], capacity: int) -> Any:
    """Each rank's tokens in a row, filled as the expert that they chose; the dropped crossed out.

    choices: for each rank, the expert of each of its tokens. Below stands what each expert gets.
    """
    ranks, longest = len(choices), max(map(len, choices))
    figure, ax = axes(width=7.2, height=0.9 + 0.5 * 2 * ranks)
    got: list[list[int]] = [[] for _ in range(ranks)]
    for rank, row in enumerate(choices):
        sent = [0] * ranks
        for token, expert in enumerate(row):
            _token(ax, token, rank, expert, rank, dropped=sent[expert] == capacity)
            if sent[expert] < capacity:
                sent[expert] += 1
                got[expert].append(rank)
        ax.text(-0.4, rank, f"tokens of rank {rank}", ha="right", va="center", fontsize=10)
    for expert, senders in enumerate(got):
        y = ranks + 0.7 + expert
        for place, rank in enumerate(senders):
            _token(ax, place, y, expert, rank, dropped=False)
        ax.text(-0.4, y, f"to expert {expert}", ha="right", va="center", fontsize=10)
    ax.set(xlim=(-2.9, max(longest, ranks * capacity) + 0.6), ylim=(2 * ranks + 0.4, -0.7))
    ax.axis("off")
    return figure


def _token(ax: Any, x: float, y: float, expert: int, rank: int, dropped: bool) -> None:
    """A box filled as its expert, with the number of its rank; crossed out where it is dropped."""
    from matplotlib.patches import Rectangle

    look = {**PARTS[expert], "facecolor": "white"} if dropped else PARTS[expert]
    edge = GREY if dropped else BLACK
    ax.add_patch(Rectangle((x, y - 0.36), 0.8, 0.72, edgecolor=edge, **look))
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    middle = {"ha": "center", "va": "center", "fontsize": 8}
    ax.text(x + 0.4, y, str(rank), bbox=ground, **middle)
    if dropped:
        for ends in ((y - 0.36, y + 0.36), (y + 0.36, y - 0.36)):
            ax.plot([x, x + 0.8], ends, color=RED, linewidth=1.6)


def shares(runs: Mapping[str, Sequence[Sequence[float]]]) -> Any:
    """The share of tokens that chose each expert, over steps: a panel a run, a line an expert.

    runs: by name, for each step the experts' shares.
    """
    figure, panels = axes(columns=len(runs), width=7.2, height=2.9)
    for ax, (name, steps) in zip(panels, runs.items(), strict=True):
        for line in zip(*steps, strict=True):
            ax.plot([100 * each for each in line], color=BLUE, linewidth=1.1)
        equal = 100 / len(steps[0])
        ax.axhline(equal, color=RED, linestyle="--", linewidth=1.4, label="an equal share")
        ax.set(title=name, xlabel="step", ylim=(0, 60))
    panels[0].set_ylabel("tokens that chose it, %")
    panels[-1].legend(loc="upper right", fontsize=9)
    return figure
