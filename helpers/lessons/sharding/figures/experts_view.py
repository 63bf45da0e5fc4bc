"""The figures of lesson 14 on experts: which token goes where, and who is chosen how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helpers.lessons.sharding.figures.tensor_parallel_view import PARTS
from helpers.notebook.figures import show
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


def show_to_their_experts() -> None:
    """The tokens of four ranks on their way to four experts."""
    show(
        to_their_experts(
            [[1, 0, 2, 0, 0, 1], [2, 0, 0, 3, 0, 1], [3, 0, 1, 0, 2, 0], [0, 3, 1, 0, 2, 0]],
            capacity=2,
        ),
        caption="A rank may send each expert two tokens here. The third one for expert 0 is "
        "dropped on every rank, and still expert 0 has most to do.",
        alt="Four rows of six boxes, the tokens of four ranks, filled by the expert that "
        "they chose; one box in each row is crossed out. Below, what each expert gets: "
        "expert 0 eight tokens, two from each rank, expert 1 five, expert 2 four, "
        "expert 3 three.",
    )


def show_experts(runs: Mapping[str, tuple[Sequence[Sequence[float]], float]]) -> None:
    """Shares of tokens by expert, without the balancing loss and with it.

    runs: for each name the shares in each step, and the part that was dropped in the end.
    """
    crowds = [max(shares[-1]) for shares, _ in runs.values()]
    told = " and ".join(f"{100 * dropped:.0f} %" for _, dropped in runs.values())
    said = " and ".join(f"{100 * most:.0f} %" for most in crowds)
    show(
        shares({name: shares for name, (shares, _) in runs.items()}),
        caption=f"Eight experts, trained on the digits. In the last 20 steps {told} of the "
        "tokens are dropped, without the balancing loss and with it.",
        alt="Two panels, percent of tokens that chose each of eight experts over 80 steps, "
        "and a dashed line at the equal share, 12.5 %. The largest share in the last "
        f"step is {said}, with the task's loss alone and with the balancing loss.",
    )
