"""Figures of data parallelism: where a step's time goes, whose rows are whose, what stays equal.

Each function takes what a cell has measured, draws it and shows it with caption and alt text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median

import numpy as np
from torch import Tensor

from helpers.notebook import style
from helpers.notebook.compared import times_as
from helpers.notebook.figures import show


def show_parts(one: Sequence[float], two: Sequence[float]) -> None:
    """The seconds of a step's parts on one rank and on two, as stacked bars.

    one, two: forward and backward, all-reduce, update.
    """
    figure, ax = style.axes(height=2.5)
    looks = (
        ("forward and backward", style.GREEN, ""),
        ("all-reduce", style.ORANGE, "////"),
        ("update", style.GREY, ".."),
    )
    left = np.zeros(2)
    for (name, colour, hatch), *parts in zip(looks, one, two, strict=True):
        wide = 1e3 * np.array(parts)
        look = {"color": colour, "hatch": hatch, "edgecolor": "#444444", "linewidth": 0.4}
        ax.barh([0, 1], wide, left=left, height=0.55, label=name, **look)
        left = left + wide
    half = two[0] / one[0]
    goes = "each rank still goes through all weights"
    if round(half, 2) <= 0.5:
        goes = f"{'no more than' if round(half, 2) == 0.5 else 'even less than'} half"
    style.rows(ax, ["one rank,\n16 rows", "two ranks,\n8 rows each"])
    ax.set_xlabel("time of a step (ms), measured")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3)
    show(
        figure,
        caption=f"With half the rows, forward and backward take {half:.0%} of the time: "
        f"{goes}. On two ranks {two[1] / sum(two):.0%} of the "
        "step is the all-reduce.",
        alt=f"Two stacked bars of a step's time, measured: one rank {left[0]:.0f} ms, two ranks "
        f"{left[1]:.0f} ms. Forward and backward take {1e3 * one[0]:.0f} and {1e3 * two[0]:.0f} ms "
        f"of these, the all-reduce {1e3 * two[1]:.0f} ms of the second.",
    )


def show_owners(cut: Callable[[int, int, int, int], Tensor], rows: int, size: int) -> None:
    """Which rank has which row in four epochs. cut(rows, rank, size, epoch): its row numbers."""
    from matplotlib.patches import Rectangle

    figure, ax = style.axes(height=2.3)
    for epoch in range(4):
        for rank in range(size):
            for row in map(int, cut(rows, rank, size, epoch)):
                corner = row - 0.46, epoch - 0.42
                ax.add_patch(Rectangle(corner, 0.92, 0.84, color=style.CYCLE[rank], linewidth=0))
                bold = {"ha": "center", "va": "center", "color": "white", "fontweight": "bold"}
                ax.text(row, epoch, rank, **bold)
    ax.set(
        xlim=(-0.6, rows - 0.4),
        ylim=(3.6, -0.6),
        xlabel="row of the data set",
        ylabel="epoch",
    )
    ax.set_xticks(range(0, rows, 2))
    ax.set_yticks(range(4))
    ax.grid(visible=False)
    show(
        figure,
        caption=f"Which of {size} ranks works on which of {rows} rows: every row once an epoch, "
        "dealt anew each time.",
        alt=f"A grid of four epochs by {rows} rows; each cell holds the number of the rank that "
        "has the row. The ranks' cells differ by one in number at most, in another pattern each "
        "epoch.",
    )


def show_equality(
    ranks: Sequence[int], alike: Sequence[float], single: Sequence[float], double: Sequence[float]
) -> None:
    """How far gradients on some ranks are from one big batch's, relative to the largest.

    alike: ranks counted alike, float64. single, double: weighted by rows, float32 and float64.
    """
    figure, ax = style.axes(height=3.2)
    ax.plot(ranks, alike, **style.measured(style.RED, "ranks counted alike", "s"))
    ax.plot(ranks, single, **style.measured(style.ORANGE, "by rows, float32", "^"))
    ax.plot(ranks, double, **style.measured(style.BLUE, "by rows, float64"))
    ax.set(yscale="log", ylim=(1e-17, 1), xlim=(min(ranks) - 0.5, max(ranks) + 0.5))
    ax.set(xlabel="ranks", ylabel="difference from one batch\n(part of the largest gradient)")
    ax.set_xticks(ranks)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, handletextpad=0.1)
    show(
        figure,
        caption="Weighted by rows, N ranks equal one big batch to rounding; counted alike, they "
        f"are off by {100 * min(alike):.2g} to {100 * max(alike):.2g} % of the largest gradient.",
        alt=f"Chart of the difference from one big batch against ranks, logarithmic. Weighted by "
        f"rows {max(double):.0e} at most in float64 and {max(single):.0e} in float32, counted "
        f"alike up to {max(alike):.0e}.",
    )


def show_drift(runs: Mapping[str, tuple[Sequence[float], Sequence[float]]], every: int) -> None:
    """For each run: the distance of the replicas every so many steps, and each step's loss."""
    figure, (left, right) = style.axes(columns=2, width=8.2, height=3.3)
    for (name, (distance, losses)), colour, mark in zip(
        runs.items(), (style.RED, style.ORANGE, style.BLUE), "s^o", strict=True
    ):
        steps = range(0, every * len(distance), every)
        left.plot(steps, distance, color=colour, marker=mark, markevery=10, label=name)
        smooth = [sum(losses[i : i + 20]) / 20 for i in range(len(losses) - 20)]
        right.plot(range(10, 10 + len(smooth)), smooth, color=colour, marker=mark, markevery=90)
    left.set(xlabel="step", ylabel="distance of the weights", ylim=(-0.4, None))
    right.set(xlabel="step", ylabel="loss on rank 0", ylim=(0, None))
    ends = {name: (distance[0], distance[-1]) for name, (distance, _) in runs.items()}
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False
    )
    (apart, losses), *_ = runs.values()  # without the broadcast
    told = "falls all the same" if losses[-1] < losses[0] else "does not fall"
    show(
        figure,
        caption=f"Without the broadcast the replicas are {apart[0]:.2f} apart at the start and "
        f"{apart[-1]:.2f} at the end, and the loss {told}.",
        alt="Two line charts against steps. Left, the distance between the replicas' weights, at "
        f"the start and at the end: {_listed(ends)}. Right, the loss on rank 0: "
        f"{_listed({name: (losses[0], losses[-1]) for name, (_, losses) in runs.items()})}.",
    )


def _listed(ends: Mapping[str, tuple[float, float]]) -> str:
    return "; ".join(f"{name} {start:.2f} and {end:.2f}" for name, (start, end) in ends.items())


def show_pieces(
    pieces: Sequence[int], seconds: Sequence[float], model: Callable[[int], float], what: str
) -> None:
    """Seconds of all-reduces that share so many bytes (what: such as "4 MB"), and the model."""
    figure, ax = style.axes(height=3.2)
    ax.plot(pieces, [1e3 * s for s in seconds], **style.measured(label="measured, 2 ranks"))
    label = "modelled: pieces · α + bytes · β"
    ax.plot(pieces, [1e3 * model(count) for count in pieces], **style.modelled(label=label))
    ax.set(xscale="log", yscale="log", xlabel=f"all-reduces that share {what}", ylabel="time (ms)")
    style.ticks(ax.xaxis, pieces)
    ax.minorticks_off()
    ax.legend()
    ratio = seconds[-1] / seconds[0]
    pays = "every all-reduce pays its latency"
    if round(ratio) <= 1:
        pays = "the latency of each cannot be seen here"
    off = max(max(s / model(n), model(n) / s) for n, s in zip(pieces, seconds, strict=True))
    show(
        figure,
        caption=f"In {pieces[-1]} pieces the same {what} take "
        f"{times_as(ratio, 'long', digits=0)} as in one: {pays}.",
        alt="Line chart of time against the number of all-reduces, both logarithmic: "
        f"{1e3 * seconds[0]:.1f} ms for {pieces[0]}, {1e3 * seconds[-1]:.0f} ms for {pieces[-1]}. "
        f"The model, with a latency for each piece, is off by a factor of {off:.1f} at most.",
    )


def show_curves(losses: Mapping[str, Sequence[float]]) -> None:
    """The training losses of three implementations, drawn so that equal ones can all be seen."""
    gap = max(max(step) - min(step) for step in zip(*losses.values(), strict=True))
    apart = f"at most {gap:.0e} apart" if gap else "equal"
    figure, ax = style.axes(height=3.0)
    looks = (
        {"color": style.BLUE, "linewidth": 5, "alpha": 0.4},
        {"color": style.GREEN, "linewidth": 1.6, "linestyle": "--"},
        {"color": style.RED, "linestyle": "none", "marker": "o", "markersize": 5, "markevery": 4},
    )
    for (name, values), look in zip(losses.items(), looks, strict=True):
        ax.plot(values, label=name, **look)
    ax.set(xlabel="step", ylabel="training loss", ylim=(0, None))
    ax.legend()
    last = "; ".join(f"{name} {sum(v[-10:]) / 10:.2f}" for name, v in losses.items())
    show(
        figure,
        caption=f"The losses of three implementations are {apart} at every step.",
        alt=f"Line chart of the training loss against steps, falling from "
        f"{next(iter(losses.values()))[0]:.1f}. Means of the last ten steps: {last}.",
    )


def show_step_times(seconds: Mapping[str, float]) -> None:
    """How long a step takes, by way."""
    figure, ax = style.axes(height=2.9)
    values = [1e3 * s for s in seconds.values()]
    ax.plot(values, range(len(values)), **style.measured())
    for place, value in enumerate(values):
        style.note(ax, f"{value:.0f} ms", (value, place), (9, 0), va="center")
    style.rows(ax, list(seconds))
    ax.set(xlabel="time of a step with 64 rows a rank (ms)", xlim=(0, 1.25 * max(values)))
    listed = ", ".join(f"{n} {v:.0f} ms" for n, v in zip(seconds, values, strict=True))
    show(
        figure,
        caption="What a step costs, measured here: the nearer to “no sum at all”, the better the "
        "sum is hidden or made.",
        alt=f"Dot chart of step times: {listed}.",
    )


def show_errors(
    errors: Mapping[str, Sequence[float]], published_errors: Mapping[str, float]
) -> None:
    """Test errors (%) by way, a point a seed, beside those that Goyal et al. published."""
    theirs = {name.replace("gpus", "GPUs"): error for name, error in published_errors.items()}
    figure, (left, right) = style.axes(columns=2, width=8.6, height=3.9)
    for place, values in enumerate(errors.values()):
        spread = [place + 0.05 * (i - len(values) / 2) for i in range(len(values))]
        seeds = style.measured(label=f"measured, {len(values)} seeds" if place == 0 else "")
        left.plot(spread, sorted(values), **{**seeds, "alpha": 0.75, "markersize": 5})
        middle, label = median(values), "median" if place == 0 else ""
        left.hlines(middle, place - 0.33, place + 0.33, color=style.RED, linewidth=2, label=label)
        at = place + 0.36, middle
        style.note(left, f"{middle:.1f}", at, (0, 0), va="center", color=style.RED)
    left.set(yscale="log", ylabel="test error on the digits (%)", ylim=(1, 130), xlim=(-0.5, 3.8))
    style.ticks(left.yaxis, [1, 2, 5, 10, 20, 50, 100])
    left.set_xticks(range(len(errors)), list(errors), fontsize=8)
    right.plot(range(4), theirs.values(), **style.published("published: Goyal et al. 2017"))
    for place, value in enumerate(theirs.values()):
        style.note(right, f"{value:.2f}", (place, value), (0, 8), ha="center")
    right.set(ylabel="top-1 error on ImageNet (%)", ylim=(23, 26.6), xlim=(-0.5, 3.5))
    names = [name.replace(", ", ",\n").replace(" warmup", "\nwarmup") for name in theirs]
    right.set_xticks(range(4), names, fontsize=8)
    for ax in (left, right):
        ax.legend(loc="upper left", fontsize=9)
    figure.get_layout_engine().set(wspace=0.06)
    small, same, scaled, warm = (median(values) for values in errors.values())
    seeds_of = [*errors.values()][2]
    lost = sum(error > 80 for error in seeds_of)  # 90 % is guessing
    ours = "; ".join(f"{n.replace(chr(10), ' ')} {median(v):.1f} %" for n, v in errors.items())
    listed = "; ".join(f"{n} {v:.2f} %" for n, v in theirs.items())
    show(
        figure,
        caption=f"A batch of 128 ends at a median of {same:.1f} % at the rate of the batch of 4, "
        f"which ends at {small:.1f} %; at 32 times the rate at {scaled:.1f} %, where {lost} of "
        f"{len(seeds_of)} seeds still guess; with warmup at {warm:.1f} %. Published beside it, on "
        "ImageNet.",
        alt=f"Two charts. Left, measured test errors on the digits, a point a seed; medians: "
        f"{ours}. Right, published top-1 errors on ImageNet: {listed}.",
    )
