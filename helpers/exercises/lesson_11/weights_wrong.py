"""Wrong answers to exercise 11.2: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _magnitude(weight: Any, *over: int) -> Any:
    """The largest magnitude over all dimensions but the first, or over some; they are kept."""
    return weight.abs().amax(over or tuple(range(1, weight.dim())), keepdim=True)


def _beside(weight: Any, numbers: Any) -> Any:
    """A number for each channel, so that it meets the channel's weights."""
    return numbers.view(-1, *[1] * (weight.dim() - 1))


def _by_highest(weight: Any, bits: int, *over: int) -> Any:
    return _magnitude(weight, *over) / (2 ** (bits - 1) - 1)


def _nearest(weight: Any, scale: Any, bits: int) -> Any:
    highest = 2 ** (bits - 1) - 1
    return torch.round(weight / scale).clamp(-highest, highest).to(torch.int8)


def _with(
    *,
    scale: Callable[[Any, int], Any] = _by_highest,
    codes: Callable[[Any, Any, int], Any] = _nearest,
    shaped: Callable[[Any], Any] = torch.flatten,
) -> Callable[..., Any]:
    """A scale, the codes by the weight and the scale, and the scale as it is given back."""

    def quantize_weight(weight: Any, bits: int = 8) -> Any:
        found = scale(weight, bits)
        found = torch.where(found == 0, torch.ones_like(found), found)
        return codes(weight, found, bits), shaped(found)

    return quantize_weight


_right = _with()

# --- the shapes -----------------------------------------------------------------------------------

for_convolutions_alone = _with(scale=lambda w, bits: _magnitude(w, 1, 2, 3))
kept_dimensions = _with(shaped=lambda scale: scale)
KEPT_DIMENSIONS = (
    "the scales have the shape {shape}: they kept their dimensions, which helps to divide the "
    "weight by them. Give them back as ({out},), by `flatten()`."
)
other_dimension = _with(scale=lambda w, bits: _by_highest(w, bits, 0, *range(2, w.dim())))
OTHER_DIMENSION = (
    "the scales have the shape {shape}, one for each input. Channels lie along dimension 0, of "
    "which there are {out}: take the largest over the others."
)
over_the_inputs = _with(
    scale=lambda w, bits: _by_highest(w, bits, 1), shaped=lambda scale: scale.squeeze(1)
)
OVER_THE_INPUTS = (
    "the scales have the shape {shape}: a channel of a convolution is {channel_shape} weights, "
    "and has one scale. Take the largest over all dimensions but the first."
)
over_the_kernel = _with(
    scale=lambda w, bits: _by_highest(w, bits, *range(w.dim() // 2, w.dim())),
    shaped=lambda scale: scale.flatten(1).squeeze(1),
)


def scale_first(weight: Any, bits: int = 8) -> Any:
    return _right(weight, bits)[::-1]


SCALE_FIRST = "the order is another: `codes, scale` was asked for."


# --- the scales -----------------------------------------------------------------------------------


def _one(weight: Any, bits: int) -> Any:
    return weight.abs().max() / (2 ** (bits - 1) - 1)


one_for_all = _with(scale=lambda w, bits: _beside(w, _one(w, bits).repeat(len(w))))
ONE_FOR_ALL = (
    "there is one scale for all, {scale}. The smallest channel has weights up to {least_top} "
    "only and would need steps of {least}: take a largest magnitude for each channel."
)


one_alone = _with(scale=_one)
one_number = _with(
    # A single channel is no matter of this: there a number tells of nothing but its shape.
    scale=lambda w, bits: _one(w, bits) if len(w) > 1 else _by_highest(w, bits),
    shaped=lambda scale: float(scale) if scale.dim() == 0 else scale.flatten(),
)
without_abs = _with(scale=lambda w, bits: _beside(w, w.flatten(1).amax(1)) / (2 ** (bits - 1) - 1))
WITHOUT_ABS = (
    "channel {at} has the scale {scale}: it comes from the largest value and not from the largest "
    "magnitude. Its weights go from {bottom} to {top}: take `abs()` first."
)
one_code_too_many = _with(scale=lambda w, bits: _magnitude(w) / 2 ** (bits - 1))
ONE_CODE_TOO_MANY = (
    "channel {at} has the scale {scale}: that is its largest magnitude by {one_more}, so that "
    "{largest} would need the code {one_more}, and the highest is {highest}. Divide by that."
)
half_a_code = _with(scale=lambda w, bits: 2 * _magnitude(w) / (2**bits - 1))
HALF_A_CODE = (
    "channel {at} has the scale {scale}: that is twice the magnitude by all steps of {bits} bits, "
    "which reach further below 0 than above. A grid around 0 ends at {highest}: divide by it."
)
all_steps = _with(scale=lambda w, bits: _magnitude(w) / (2**bits - 1))
ALL_STEPS = (
    "channel {at} has the scale {scale}: its magnitude was divided by all codes of {bits} bits, "
    "but they lie on both sides of 0, {highest} on each: such a scale reaches only half as far as "
    "the weights. Divide by {highest}."
)
all_codes = _with(scale=lambda w, bits: _magnitude(w) / 2**bits)
eight_bits = _with(scale=lambda w, bits: _magnitude(w) / 127)
EIGHT_BITS = (
    "channel {at} has the scale {scale}: it was divided by 127 whatever the bits are. With {bits} "
    "bits the highest code is 2^(bits−1) − 1 = {highest}."
)
upside_down = _with(scale=lambda w, bits: (2 ** (bits - 1) - 1) / _magnitude(w))
UPSIDE_DOWN = (
    "channel {at} has the scale {scale}: that is how many steps a unit has. The scale is how much "
    "a step is worth, the largest magnitude by {highest}, {right}."
)


def _from_end_to_end(weight: Any, bits: int) -> Any:
    over = tuple(range(1, weight.dim()))
    width = weight.amax(over, keepdim=True) - weight.amin(over, keepdim=True)
    return width / (2**bits - 1)


from_end_to_end = _with(scale=_from_end_to_end)
FROM_END_TO_END = (
    "channel {at} has the scale {scale}: that is the way from the smallest to the largest weight "
    "by all steps. Around 0 it is the largest magnitude, {largest}, by {highest}."
)


least_scale = _with(scale=lambda w, bits: _by_highest(w, bits).clamp(min=1.2e-7))
SMALL = (
    "channel {at} has the scale {scale}, where {right} was asked for: its weights reach {largest}, "
    "which is small and not 0. Only a channel of zeros needs another scale; set no least one, and "
    "add nothing to all of them."
)


def by_zero(weight: Any, bits: int = 8) -> Any:
    scale = _by_highest(weight, bits)
    return _nearest(weight, scale, bits), scale.flatten()


# --- the codes ------------------------------------------------------------------------------------

floats = _with(codes=lambda w, s, bits: torch.round(w / s))
cut = _with(codes=lambda w, s, bits: (w / s).to(torch.int8))
CUT = "{first} Turning to int8 cuts off what comes after the point: `round` first."
rounded_down = _with(codes=lambda w, s, bits: torch.floor(w / s).to(torch.int8))
ROUNDED_DOWN = "{first} Take `round`, where `floor` goes down always."
from_0_on = _with(codes=lambda w, s, bits: _nearest(w, s, bits).int() + 2 ** (bits - 1) - 1)
FROM_0_ON = "{first} All codes are moved up, above 0; on a grid around 0 the zero point is 0."
weights_back = _with(codes=lambda w, s, bits: _nearest(w, s, bits) * s)
WEIGHTS_BACK = "you gave what the codes stand for, code · scale, and not the codes themselves."
in_place = _with(codes=lambda w, s, bits: w.div_(s).round_().to(torch.int8))
IN_PLACE = (
    "`quantize_weight` wrote into `weight`, which the model still computes with. Functions whose "
    "names end in `_`, and `out=`, change their tensor."
)
