"""Figures of lesson 11 on codes: on the number line, by channel, where ranges end, in blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from helpers.notebook import style
from helpers.notebook.figures import show

MARKS = "os^DvP"


def show_line() -> None:
    """Sixteen codes on the number line, and below it the error of every value.

    The range, −10 … 30, is shaded. Drawn a little beyond both ends, where values are cut off.
    """
    low, high, lowest, highest, zero_point, scale = -10, 30, -8, 7, -4, 40 / 15
    figure, (line, error) = style.axes(rows=2, width=7.8, height=3.6)
    line.axhline(0, color=style.GREY, linewidth=1)
    for code in range(lowest, highest + 1):
        place = scale * (code - zero_point)
        zero = {"color": style.RED, "weight": "bold"} if code == zero_point else {}
        line.plot(
            place,
            0,
            marker="o",
            color=style.RED if zero else style.BLUE,
            markersize=9 if zero else 6.5,
        )
        style.note(line, f"{code:g}".replace("-", "−"), (place, 0), (0, -17), ha="center", **zero)
    style.note(
        line, "the value 0 is code −4", (0, 0), (0, 11), ha="center", color=style.RED, fontsize=11
    )
    line.set(ylim=(-1, 1), yticks=[])
    line.set_title("codes, each at the value that it stands for", fontsize=10)
    line.grid(visible=False)
    line.spines["left"].set_visible(False)

    x = np.linspace(low - 1.5 * scale, high + 1.5 * scale, 2401)
    steps = np.clip(np.rint(x / scale), lowest - zero_point, highest - zero_point)
    error.plot(x, steps * scale - x, color=style.BLUE, linewidth=1.5)
    for half in (-scale / 2, scale / 2):
        error.axhline(half, color=style.GREY, linestyle="--", linewidth=1)
    style.note(error, "half a step", (x[-1], scale / 2), (-3, 2), ha="right")
    error.set(xlabel="value", ylabel="error")
    for ax in (line, error):
        ax.axvspan(low, high, color=style.BLUE, alpha=0.08, linewidth=0)
        ax.set_xlim(x[0], x[-1])
    show(
        figure,
        caption="Sixteen codes for −10 … 30 (shaded). The value 0 is met exactly; inside the "
        "range no value is more than half a step off; beyond it the error grows.",
        alt="A number line with 16 dots 2.67 apart, labelled with the codes −8 to 7; the "
        "value 0 is code −4. Below, the error over the value: a saw between plus and "
        "minus half a step, 1.33, which leaves this band beyond both ends.",
    )


def show_channels(layers: Mapping[str, Tensor]) -> None:
    """From the smallest to the largest weight of each channel, of two models that compute the same.

    The dashed lines are what one range for all channels has to reach.
    """
    figure, panels = style.axes(columns=len(layers), width=8.4, height=3.1)
    for ax, (name, weight) in zip(panels, layers.items(), strict=True):
        rows = weight.detach().flatten(1)
        lows, highs, reach = rows.amin(1), rows.amax(1), float(rows.abs().max())
        ax.bar(
            range(len(rows)), highs - lows, bottom=lows, width=0.75, color=style.BLUE, linewidth=0
        )
        for end in (-reach, reach):
            ax.axhline(end, color=style.RED, linestyle="--", linewidth=1.2)
        ax.set(xlabel="channel", ylabel="weights", ylim=(-1.1 * reach, 1.1 * reach))
        ax.set_title(name, fontsize=10)
        ax.grid(visible=False, axis="x")
    show(
        figure,
        caption="One range for all channels (dashed) has to reach the widest one. On the right "
        "it leaves next to nothing for the others.",
        alt="Two panels with a bar for each of 64 channels, from its smallest to its "
        "largest weight. On the left the bars are of many lengths; on the right one "
        "fills the dashed range, and the others are thin lines around 0.",
    )


def show_codes(weights: Tensor, steps: Mapping[str, float]) -> None:
    """One ordinary channel's weights, and the values of codes of 6 bits, a panel for each step."""
    values = weights.detach().flatten().numpy()
    reach = 1.15 * float(np.abs(values).max())
    figure, panels = style.axes(columns=len(steps), width=8.4, height=2.7)
    for ax, (name, step) in zip(panels, steps.items(), strict=True):
        ax.hist(values, bins=24, range=(-reach, reach), color=style.GREY, linewidth=0)
        inside = [k * step for k in range(-31, 32) if abs(k * step) <= reach]
        for place in inside:
            ax.axvline(place, color=style.RED if place == 0 else style.BLUE, linewidth=1.4)
        ax.set(xlabel="weight", ylabel="how many", xlim=(-reach, reach))
        ax.set_title(f"{name}: {len(inside)} of 63 codes lie here", fontsize=10)
        ax.grid(visible=False)
    show(
        figure,
        caption="The weights of an ordinary channel (grey) and the codes of 6 bits (lines). "
        "The scale of the wild channel leaves them next to none.",
        alt="Two histograms of one channel's weights. On the left one or a few lines stand "
        "for codes, one of them at 0; on the right 63 lines are spread over all of the "
        "weights.",
    )


def show_bounds(
    found: Sequence[float],
    curves: Mapping[int, Sequence[float]],
    chosen: Mapping[int, tuple[float, float]],
) -> None:
    """Errors over the bound of a range, of values of a normal distribution, by numbers of bits.

    chosen: for each number of bits the bound that was found, and its error. Dashed is what
    rounding alone would give: a twelfth of the squared step.
    """
    figure, ax = style.axes(width=7.4, height=3.9)
    for place, (bits, errors) in enumerate(curves.items()):
        colour = style.CYCLE[place]
        rounding = [(2 * bound / (2**bits - 1)) ** 2 / 12 for bound in found]
        last = place == len(curves) - 1
        look = style.modelled(colour, "rounding alone, modelled" if last else "_")
        ax.plot(found, rounding, **{**look, "linewidth": 1.1})
        ax.plot(found, errors, color=colour)
        bound, error = chosen[bits]
        label = "the bound that was found" if last else "_"
        ax.plot(bound, error, **{**style.measured(colour, label, MARKS[place]), "markersize": 8.5})
        style.note(ax, f"{bound:.1f}", (bound, error), (0, 9), ha="center", color=colour)
        style.note(ax, f"{bits} bits", (found[-1], errors[-1]), (5, -3), color=colour)
    low, high = min(map(min, curves.values())), max(map(max, curves.values()))
    span = found[-1] - found[0]
    ax.set(xlim=(found[0] - 0.03 * span, found[-1] + 0.1 * span), ylim=(low / 6, high * 2))
    ax.set(yscale="log", xlabel="bound (standard deviations)", ylabel="mean squared error")
    ax.legend(fontsize=9, loc="lower right")
    show(
        figure,
        caption="The error over the bound, for values of a normal distribution. Right of the "
        "best bound (marked) rounding rules, left of it what is cut off.",
        alt="Four curves, for 8, 6, 4 and 3 bits, of the mean squared error over a bound "
        "from 0.3 to 6, the error's axis logarithmic. Each falls steeply, has a least "
        "point and rises along a dashed line of rounding alone. The fewer the bits, "
        "the higher the curve and the further left its least point.",
    )


def show_blocks(row: Tensor, left: Mapping[str, Tensor]) -> None:
    """64 weights with a wild one among them, and what is left of them, a panel for each way.

    A block of 32 ends at the dashed line; what is far outside of the others' range is told in words
    at the upper edge.
    """
    reach, places, weights = 4.0, range(len(row)), row.tolist()
    figure, panels = style.axes(rows=len(left), width=8.2, height=1.9 * len(left) + 0.5)
    for ax, (name, kept) in zip(panels, left.items(), strict=True):
        ax.plot(places, weights, **style.measured(style.GREY, "the weights"))
        ax.plot(
            places, kept.tolist(), **{**style.measured(style.BLUE, "what is left"), "markersize": 4}
        )
        ax.axvline(31.5, color=style.GREY, linestyle="--", linewidth=1)
        for place, value in enumerate(weights):
            if value > reach:
                wild = f"↑ the wild one, {value:g}"
                style.note(ax, wild, (place, reach), (0, -2), color=style.RED, va="top")
        ax.set(xlim=(-1, len(row)), ylim=(-reach, reach), ylabel="weight")
        ax.set_title(name, fontsize=10)
        ax.grid(visible=False)
    panels[-1].set_xlabel("place in the row")
    panels[0].legend(fontsize=9, ncols=2, loc="lower right", bbox_to_anchor=(1, 0.97))
    zeros = [
        [int((kept[part] == 0).sum()) for part in (slice(0, 32), slice(32, 64))]
        for kept in left.values()
    ]
    told = " ".join(
        f"{name}: {first} and {second} of 32 lie at 0 in the first and the second block."
        for name, (first, second) in zip(left, zeros, strict=True)
    )
    show(
        figure,
        caption="The wild weight spoils its row, or its block. Rounded to 0 in the block "
        f"beside its own: {zeros[0][1]} of 32 with a scale for the row, {zeros[1][1]} "
        "with a scale for each block.",
        alt="Two panels with 64 weights, grey, and what is left of them, blue; a dashed "
        "line between the two blocks, and an arrow up at the wild weight in the first. "
        f"{told}",
    )


def show_block_errors(
    counts: Sequence[int], found: Mapping[str, Sequence[float]], bits: Mapping[str, float]
) -> None:
    """Errors (%) of ordinary weights over how many wild ones a row has, a line for each format.

    counts: evenly spaced on the axis, whatever they are. bits: of a weight, its part of the scales
    among them, for the legend.
    """
    figure, ax = style.axes(width=8.2, height=3.5)
    places = range(len(counts))
    looks = (
        (style.BLUE, "o", "--"),
        (style.GREEN, "s", "-"),
        (style.RED, "^", "--"),
        (style.ORANGE, "D", "-"),
    )
    for (colour, mark, line), (name, values) in zip(looks, found.items(), strict=False):
        ax.plot(places, values, color=colour, linestyle=line, linewidth=1)
        ax.plot(places, values, **style.measured(colour, f"{name}: {bits[name]:.2f}", mark))
        style.note(
            ax, f"{values[-1]:.1f}", (places[-1], values[-1]), (8, 0), color=colour, va="center"
        )
    least = 0.7 * min(map(min, found.values()))
    ax.set(yscale="log", xlabel="wild weights in a row", ylabel="error of the others (%)")
    ax.set_xticks(places, [str(count) for count in counts])
    style.ticks(ax.yaxis, [t for t in (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if t >= least])
    ax.set_xlim(-0.3, len(counts) - 0.5)
    ax.legend(
        fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5),
        title="bits a weight, with scales", title_fontsize=9, alignment="left",
    )  # fmt: skip
    told = ", ".join(map(str, counts))
    said = "; ".join(
        f"{name}: " + ", ".join(f"{each:.1f}" for each in those) for name, those in found.items()
    )
    show(
        figure,
        caption="How far off the ordinary weights are, root mean square over root mean square, "
        "with more and more wild weights among 512.",
        alt=f"Error in per cent, its axis logarithmic, over {told} wild weights in a row. {said}.",
    )
