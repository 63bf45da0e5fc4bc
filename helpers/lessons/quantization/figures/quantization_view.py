"""Figures of lesson 11 on codes: on the number line, by channel, and where a range is cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from helpers.notebook.figures import show
from helpers.notebook.style import (
    BLUE,
    CYCLE,
    GREY,
    RED,
    axes,
    measured,
    modelled,
)

MARKS = "os^DvP"


def signed(number: float) -> str:
    """A number as text, with a real minus sign."""
    return f"{number:g}".replace("-", "−")


def number_line(
    scale: float, zero_point: int, lowest: int, highest: int, low: float, high: float
) -> Any:
    """Where the codes of a grid lie, and below it the error of every value from low to high.

    The range is shaded. Drawn a little beyond both ends, where values are cut off.
    """
    figure, (line, error) = axes(rows=2, width=7.8, height=3.6)
    codes = range(lowest, highest + 1)
    places = [scale * (code - zero_point) for code in codes]
    line.axhline(0, color=GREY, linewidth=1)
    line.plot(places, [0.0] * len(places), marker="o", linestyle="none", color=BLUE)
    line.plot(0, 0, marker="o", color=RED, markersize=9)
    for code, place in zip(codes, places, strict=True):
        note = {"textcoords": "offset points", "ha": "center", "fontsize": 9}
        zero = {"color": RED, "weight": "bold"} if code == zero_point else {}
        line.annotate(signed(code), (place, 0), (0, -17), **note, **zero)
    over = {"textcoords": "offset points", "ha": "center", "color": RED}
    line.annotate(f"the value 0 is code {signed(zero_point)}", (0, 0), (0, 11), **over)
    line.set(ylim=(-1, 1), yticks=[])
    line.set_title("codes, each at the value that it stands for", loc="left", fontsize=10)
    line.grid(visible=False)
    line.spines["left"].set_visible(False)

    beyond = 1.5 * scale
    x = np.linspace(low - beyond, high + beyond, 2401)
    steps = np.clip(np.rint(x / scale), lowest - zero_point, highest - zero_point)
    error.plot(x, steps * scale - x, color=BLUE, linewidth=1.5)
    for half in (-scale / 2, scale / 2):
        error.axhline(half, color=GREY, linestyle="--", linewidth=1)
    error.annotate(
        "half a step",
        (high + beyond, scale / 2),
        (-3, 2),
        textcoords="offset points",
        ha="right",
        fontsize=9,
    )
    error.set(xlabel="value", ylabel="error")
    for ax in (line, error):
        ax.axvspan(low, high, color=BLUE, alpha=0.08, linewidth=0)
        ax.set_xlim(low - beyond, high + beyond)
    return figure


def channel_ranges(panels: Mapping[str, Tensor]) -> Any:
    """From the smallest to the largest weight of each channel, a panel a layer.

    The dashed lines are what one range for all channels has to reach.
    """
    figure, found = axes(columns=len(panels), width=8.4, height=3.1)
    for ax, (name, weight) in zip(np.atleast_1d(found), panels.items(), strict=True):
        rows = weight.detach().flatten(1)
        lows, highs = rows.amin(1).tolist(), rows.amax(1).tolist()
        reach = float(rows.abs().max())
        heights = [up - down for down, up in zip(lows, highs, strict=True)]
        ax.bar(range(len(rows)), heights, bottom=lows, width=0.75, color=BLUE, linewidth=0)
        for end in (-reach, reach):
            ax.axhline(end, color=RED, linestyle="--", linewidth=1.2)
        ax.set(xlabel="channel", ylabel="weights", ylim=(-1.1 * reach, 1.1 * reach))
        ax.set_title(name, loc="left", fontsize=10)
        ax.grid(visible=False, axis="x")
    return figure


def codes_over_weights(weights: Tensor, steps: Mapping[str, float], bits: int) -> Any:
    """One channel's weights, and the values that codes stand for, a panel for each step."""
    highest = 2 ** (bits - 1) - 1
    values = weights.detach().flatten().numpy()
    reach = 1.15 * float(np.abs(values).max())
    figure, found = axes(columns=len(steps), width=8.4, height=2.7)
    for ax, (name, step) in zip(np.atleast_1d(found), steps.items(), strict=True):
        ax.hist(values, bins=24, range=(-reach, reach), color=GREY, linewidth=0)
        inside = [k * step for k in range(-highest, highest + 1) if abs(k * step) <= reach]
        for place in inside:
            ax.axvline(place, color=RED if place == 0 else BLUE, linewidth=1.4)
        ax.set(xlabel="weight", ylabel="how many", xlim=(-reach, reach))
        said = f"{name}: {len(inside)} of {2 * highest + 1} codes lie here"
        ax.set_title(said, loc="left", fontsize=10)
        ax.grid(visible=False)
    return figure


def bound_error(
    bounds: Sequence[float],
    errors: Mapping[int, Sequence[float]],
    chosen: Mapping[int, tuple[float, float]],
) -> Any:
    """Mean squared error over the bound of a range around 0, a curve for each number of bits.

    chosen: for each number of bits the bound that was found, and its error. Dashed is what
    rounding alone would give: a twelfth of the squared step.
    """
    figure, ax = axes(width=7.4, height=3.9)
    for place, (bits, values) in enumerate(errors.items()):
        colour = CYCLE[place]
        rounding = [(2 * bound / (2**bits - 1)) ** 2 / 12 for bound in bounds]
        last = place == len(errors) - 1
        look = modelled(colour, "rounding alone, modelled" if last else "_")
        ax.plot(bounds, rounding, **{**look, "linewidth": 1.1})
        ax.plot(bounds, values, color=colour)
        bound, error = chosen[bits]
        label = "the bound that was found" if last else "_"
        ax.plot(bound, error, **{**measured(colour, label, MARKS[place]), "markersize": 8.5})
        note = {"textcoords": "offset points", "fontsize": 9, "color": colour}
        ax.annotate(f"{bound:.1f}", (bound, error), (0, 9), ha="center", **note)
        ax.annotate(f"{bits} bits", (bounds[-1], values[-1]), (5, -3), **note)
    low, high = min(map(min, errors.values())), max(map(max, errors.values()))
    span = bounds[-1] - bounds[0]
    ax.set(xlim=(bounds[0] - 0.03 * span, bounds[-1] + 0.1 * span), ylim=(low / 6, high * 2))
    ax.set(yscale="log", xlabel="bound (standard deviations)", ylabel="mean squared error")
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    return figure


def show_line() -> None:
    """Sixteen codes on the number line."""
    show(
        number_line(scale=40 / 15, zero_point=-4, lowest=-8, highest=7, low=-10, high=30),
        caption="Sixteen codes for −10 … 30 (shaded). The value 0 is met exactly; inside the "
        "range no value is more than half a step off; beyond it the error grows.",
        alt="A number line with 16 dots 2.67 apart, labelled with the codes −8 to 7; the "
        "value 0 is code −4. Below, the error over the value: a saw between plus and "
        "minus half a step, 1.33, which leaves this band beyond both ends.",
    )


def show_channels(layers: Mapping[str, Tensor]) -> None:
    """Weights by channel of two models that compute the same."""
    show(
        channel_ranges(layers),
        caption="One range for all channels (dashed) has to reach the widest one. On the right "
        "it leaves next to nothing for the others.",
        alt="Two panels with a bar for each of 64 channels, from its smallest to its "
        "largest weight. On the left the bars are of many lengths; on the right one "
        "fills the dashed range, and the others are thin lines around 0.",
    )


def show_codes(weights: Tensor, steps: Mapping[str, float]) -> None:
    """One ordinary channel's weights under two steps between codes of 6 bits."""
    show(
        codes_over_weights(weights, steps, bits=6),
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
    """Errors over the bound of a range, of values of a normal distribution."""
    show(
        bound_error(found, curves, chosen),
        caption="The error over the bound, for values of a normal distribution. Right of the "
        "best bound (marked) rounding rules, left of it what is cut off.",
        alt="Four curves, for 8, 6, 4 and 3 bits, of the mean squared error over a bound "
        "from 0.3 to 6, the error's axis logarithmic. Each falls steeply, has a least "
        "point and rises along a dashed line of rounding alone. The fewer the bits, "
        "the higher the curve and the further left its least point.",
    )
