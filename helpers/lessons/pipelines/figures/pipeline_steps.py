"""Lesson 13's figures of real ranks: the bubble measured, and steps beside torch's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    SKY,
    axes,
    measured,
    modelled,
    rows,
    ticks,
)


def show_real_bubble(
    measured_shares: Mapping[int, Sequence[float]], formula: Mapping[int, float], stages: int
) -> None:
    """Idle share of real ranks by microbatches: every repeat as a dot, the formula dashed."""
    figure, ax = axes(width=6.6, height=3.1)
    for at, (count, shares) in enumerate(measured_shares.items()):
        label = "measured, every step; a line: the median" if at == 0 else "_"
        ax.plot([count] * len(shares), [100 * s for s in shares], **measured(label=label))
        middle = [100 * median(shares)]
        ax.plot([count], middle, color=BLUE, marker="_", markersize=22, markeredgewidth=2.5)
    ax.plot(list(formula), [100 * s for s in formula.values()], **modelled(label="formula"))
    ax.set(xscale="log", xlabel="microbatches", ylabel="idle (% of the step)", ylim=(0, None))
    ticks(ax.xaxis, formula)
    ax.legend(loc="upper right")
    middles = {count: 100 * median(shares) for count, shares in measured_shares.items()}
    listed = ", ".join(
        f"{count}: {middles[count]:.0f} and {100 * share:.0f}" for count, share in formula.items()
    )
    show(
        figure,
        f"The bubble of {stages} real ranks, step by step, beside the formula. Whatever delays one "
        "rank makes the other wait: other programs that want the cores raise the dots, and uneven "
        "stages too.",
        "Idle share over microbatches, measured dots and the dashed formula. By number of "
        f"microbatches, the measured median and the formula in per cent: {listed}.",
    )


def show_contenders(seconds: Mapping[str, float]) -> None:
    """A bar for each way to take a step, in milliseconds, one under the other.

    seconds: by name; the first is what the others are compared with.
    """
    figure, ax = axes(width=7.0, height=0.9 + 0.34 * len(seconds))
    colours = {"one rank": SKY, "one after": ORANGE, "torch": RED, "ours": BLUE}
    names, took = list(seconds), [1e3 * s for s in seconds.values()]
    found = [next((c for key, c in colours.items() if key in name), GREEN) for name in names]
    bars = ax.barh(range(len(names)), took, height=0.66, color=found)
    ax.bar_label(bars, fmt=" {:.0f} ms")
    rows(ax, names)
    ax.set(xlim=(0, 1.18 * max(took)), xlabel="step (ms, median)")
    listed = "; ".join(f"{name} {1e3 * value:.0f}" for name, value in seconds.items())
    base, *others = names
    gains = "; ".join(f"{name} {seconds[base] / seconds[name]:.2f}" for name in others)
    show(
        figure,
        f"In this run, how many times as quick as {base}: {gains}.",
        f"Bars of a step's time in milliseconds: {listed}.",
    )
