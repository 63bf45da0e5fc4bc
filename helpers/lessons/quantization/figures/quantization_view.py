"""The figures of lesson 11: codes on the number line, ranges, and what a smaller model costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from helpers.notebook.style import (
    BLACK,
    BLUE,
    CYCLE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    axes,
    measured,
    modelled,
    published,
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


def by_bits(
    floats: float,
    after: Mapping[int, float],
    cut: Mapping[int, float],
    trained: Mapping[int, float],
    points: str,
) -> Any:
    """Accuracy (%) over the bits of weights and activations, after training and trained so.

    after: with ranges from the lowest to the highest value; cut: with a recipe's that cuts. points:
    which pictures were counted, for the axis.
    """
    figure, ax = axes(width=6.4, height=3.4)
    ax.axhline(floats, color=GREY, linestyle=":", label="float32")
    ax.plot(list(after), list(after.values()), color=BLUE, linewidth=1)
    ax.plot(list(after), list(after.values()), **measured(BLUE, "rounded after training"))
    ax.plot(list(cut), list(cut.values()), **measured(ORANGE, "by a better recipe's ranges", "^"))
    ax.plot(list(trained), list(trained.values()), **measured(GREEN, "trained with rounding", "s"))
    bits = sorted({*after, *trained}, reverse=True)
    ax.set_xticks(bits, [str(b) for b in bits])
    ax.invert_xaxis()
    ax.set(xlabel="bits of weights and activations", ylabel=f"{points} right (%)", ylim=(0, 104))
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    return figure


def models(rows: Mapping[str, tuple[float, float, float]]) -> Any:
    """Size, time and accuracy of several forms of one model, a row a form.

    rows: by name, (KB on disk, ms for the test set, % right), the first one the model itself.
    """
    figure, panels = axes(columns=3, width=8.6, height=0.42 * len(rows) + 1.1)
    heads = ("KB on disk", "ms for the test pictures", "test pictures right (%)")
    places = list(range(len(rows)))
    for column, (ax, head) in enumerate(zip(panels, heads, strict=True)):
        values = [row[column] for row in rows.values()]
        if column == 0:
            ax.barh(places, values, height=0.6, color=ORANGE, linewidth=0)
        else:
            colour, mark = ((BLUE, "o"), (GREEN, "s"))[column - 1]
            ax.plot(values, places, **measured(colour, "_", mark))
        for value, place in zip(values, places, strict=True):
            note = {"textcoords": "offset points", "va": "center", "fontsize": 9}
            digits = 1 if column == 2 or value < 10 else 0
            ax.annotate(f"{value:.{digits}f}", (value, place), (6, 0), **note)
        ax.set_yticks(places, list(rows) if column == 0 else [""] * len(rows), fontsize=9)
        ax.set(ylim=(len(rows) - 0.4, -0.6), xlabel=head)
        ax.axvline(values[0], color=GREY, linestyle=":", linewidth=1)
        ax.margins(x=0.22)
        if column < 2:
            ax.set_xlim(left=0)
            ax.locator_params(axis="x", nbins=4)
        else:  # a difference of a point shall look like one
            least = min(90, 5 * math.floor(min(values) / 5))
            ax.set(xlim=(least, 103), xticks=range(least, 101, 5 if least > 80 else 20))
        ax.grid(visible=False, axis="y")
    return figure


def drops(printed: Mapping[str, float], ours: Mapping[str, float]) -> Any:
    """Points of accuracy lost to few bits, what others printed beside what was measured here."""
    figure, ax = axes(width=7.8, height=0.29 * (len(printed) + len(ours)) + 1.0)
    names = [*printed, *ours]
    ax.axvline(0, color=GREY, linewidth=1)
    ax.plot(list(printed.values()), range(len(printed)), **published())
    own = range(len(printed), len(names))
    ax.plot(list(ours.values()), own, **measured(label="measured: the patient"))
    for place, value in enumerate([*printed.values(), *ours.values()]):
        note = {"textcoords": "offset points", "va": "center", "fontsize": 9}
        said = f"{round(value, 1) + 0.0:.1f}".replace("-", "−")
        ax.annotate(said, (value, place), (7, 0), **note)
    ax.axhline(len(printed) - 0.5, color=BLACK, linewidth=0.8)
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.set(ylim=(len(names) - 0.4, -0.6), xlabel="points of accuracy lost")
    ax.margins(x=0.1)
    ax.grid(visible=False, axis="y")
    ax.legend(frameon=False, fontsize=9, loc="upper right")
    return figure


def products(milliseconds: Mapping[str, Mapping[int, float]]) -> Any:
    """Milliseconds of one layer over the rows of a batch, a line for each way to compute it."""
    figure, ax = axes(width=8.6, height=3.7)
    for place, (name, by_rows) in enumerate(milliseconds.items()):
        colour = CYCLE[place % len(CYCLE)]
        mark = MARKS[place % len(MARKS)]
        ax.plot(list(by_rows), list(by_rows.values()), color=colour, linewidth=1)
        ax.plot(list(by_rows), list(by_rows.values()), **measured(colour, name, mark))
    rows = sorted({r for by_rows in milliseconds.values() for r in by_rows})
    ax.set(xscale="log", yscale="log", xlabel="rows of the batch", ylabel="ms (median)")
    ax.set_xticks(rows, [str(r) for r in rows])
    seen = [ms for by_rows in milliseconds.values() for ms in by_rows.values()]
    ticks = [t for t in _decades() if min(seen) / 1.5 < t < 1.5 * max(seen)]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _decades() -> Iterable[float]:
    return (m * 10.0**power for power in range(-3, 5) for m in (1, 2, 5))
