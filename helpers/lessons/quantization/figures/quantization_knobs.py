"""What lesson 11's widget draws: weights, and the codes of a range, as range and bits change."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from helpers.notebook.style import BLUE, GREY, ORANGE, RED, axes, rows

# Gives (codes, scale, zero point) of values for a range: quantize(values, low, high, bits).
Quantizer = Callable[..., tuple[Tensor, float, int]]
BINS = 81
SHOWN = 2.1  # the axis reaches so many times the largest weight, as the widest range does


class Outcome(NamedTuple):
    """A range's codes over some values, and where their error comes from.

    step: between two codes. inside: values that codes stand for, of those on the axis. rounding,
    cutting: shares of the mean squared error, of values within the range and beyond it. cut: the
    share of values beyond it.
    """

    bound: float
    step: float
    inside: list[float]
    rounding: float
    cutting: float
    cut: float


def outcome(values: Tensor, quantize: Quantizer, bits: int, reach: int) -> Outcome:
    """The range −bound … bound, with the bound at `reach` per cent of the largest magnitude."""
    top = float(values.abs().max())
    bound = top * reach / 100
    codes, scale, zero_point = quantize(values, -bound, bound, bits)
    squares = ((codes.double() - zero_point) * scale - values.double()).square()
    beyond = values.abs() > bound
    ends = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    places = [scale * (code - zero_point) for code in range(ends[0], ends[1] + 1)]
    return Outcome(
        bound,
        float(scale),
        [place for place in places if abs(place) <= SHOWN * top],
        float(squares[~beyond].sum()) / len(values),
        float(squares[beyond].sum()) / len(values),
        float(beyond.double().mean()),
    )


def draw_codes(values: Tensor, quantize: Quantizer, bits: int, reach: int) -> Any:
    """For a widget: the values' histogram with the codes under it, and the error in two parts.

    values: 1-d. bits: of a code. reach: the range, in per cent of the largest magnitude.
    """
    found = outcome(values, quantize, bits, reach)
    top = float(values.abs().max())
    figure, (left, right) = axes(columns=2, width=8.6, height=3.4)
    figure.set_layout_engine("none")  # a fixed layout takes half the time to draw
    left.set_position((0.075, 0.14, 0.67, 0.74))
    right.set_position((0.845, 0.14, 0.145, 0.74))
    counts = torch.histc(values.float(), BINS, min=-top, max=top)
    edges = torch.linspace(-top, top, BINS + 1)
    within = ((edges[:-1] + edges[1:]) / 2).abs() <= found.bound
    for part, colour in ((within, GREY), (~within, RED)):
        left.stairs((counts * part).numpy(), edges.numpy(), fill=True, color=colour)
    high = 1.12 * float(counts.max())
    left.axvspan(-found.bound, found.bound, color=BLUE, alpha=0.08, linewidth=0)
    left.vlines(found.inside, -0.16 * high, -0.03 * high, color=BLUE, linewidth=0.9)
    left.set(xlim=(-SHOWN * top, SHOWN * top), ylim=(-0.19 * high, high), yticks=[])
    left.set_xlabel("weight (grey: within the range, red: cut off); a blue tick for each code")
    error = (found.rounding + found.cutting) ** 0.5
    left.set_title(
        f"{2**bits} codes, {found.step / top:.2g} of the largest weight apart; "
        f"error {100 * error / top:.2g} % of it",
    )
    left.grid(visible=False)
    parts = [100 * found.rounding**0.5 / top, 100 * found.cutting**0.5 / top]
    right.barh([0, 1], parts, height=0.6, color=[ORANGE, RED])
    for place, value in enumerate(parts):
        right.text(value, place, f" {value:.2g}", va="center", fontsize=9)
    rows(right, ["rounding", "cut off"], fontsize=9)
    right.set(xlabel="error (%)", xlim=(0, 1.45 * max(*parts, 1e-9)))
    right.grid(visible=False)
    return figure


def words(values: Tensor, quantize: Quantizer) -> Callable[[int, int], str]:
    """The picture's alt text, as a function of the knobs."""

    def say(bits: int, range_percent: int) -> str:
        found = outcome(values, quantize, bits, range_percent)
        whole = found.rounding + found.cutting
        most = "cutting off" if found.cutting > whole / 2 else "rounding"
        return (
            f"A histogram of weights over {2**bits} codes of {bits} bits, whose range reaches to "
            f"{range_percent} per cent of the largest weight: {100 * found.cut:.0f} per cent of "
            f"the weights are cut off, and most of the error comes from {most}."
        )

    return say


class Answer:
    """What there is to see, for a cell's last line: folded where a browser shows it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"What there is to see: {self.text}"

    def _repr_html_(self) -> str:
        summary = "<summary>What there is to see</summary>"
        return f"<details>{summary}<p>{html.escape(self.text)}</p></details>"


def answer(values: Tensor, quantize: Quantizer) -> Answer:
    """What the knobs tell of these values: two ranges with 8 bits and with 3, and the best one."""
    top, said, best = float(values.abs().max()), [], {}
    for bits in (8, 3):
        found = {reach: outcome(values, quantize, bits, reach) for reach in range(5, 201, 5)}
        error = {reach: (one.rounding + one.cutting) ** 0.5 / top for reach, one in found.items()}
        best[bits] = least = min(error, key=error.__getitem__)
        better = "the first" if error[200] < error[50] else "the second"
        longer = "rounding" if found[least].rounding > found[least].cutting else "cutting off"
        said.append(
            f"With {bits} bits a range that is twice too wide has an error of "
            f"{100 * error[200]:.2g} % of the largest weight, one that ends at half of it "
            f"{100 * error[50]:.2g} %: {better} is better. The error is least at about {least} %, "
            f"where {longer} has the longer bar."
        )
    more = " The fewer the codes, the more it pays to cut." if best[3] < best[8] else ""
    return Answer(f"{' '.join(said)}{more} Section 4 makes a search of it.")
