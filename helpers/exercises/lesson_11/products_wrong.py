"""Wrong answers to exercise 11.3: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _sums(x: Any, weight: Any) -> Any:
    from helpers.algorithms.quantization.integer_products import int_matmul

    return int_matmul(x, weight.t())


def _total(x: Any, zero: int, weight: Any) -> Any:
    """The output in steps, without the bias, as it should be."""
    return _sums(x, weight) - zero * weight.sum(1)


def _values(total: Any, x_scale: float, w_scale: Any, bias: Any) -> Any:
    return x_scale * w_scale * total + bias


def _with(
    total: Callable[[Any, int, Any], Any] = _total,
    values: Callable[[Any, float, Any, Any], Any] = _values,
) -> Callable[..., Any]:
    """First the output in steps, then its values, with the bias."""

    def integer_linear(
        x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
    ) -> Any:
        return values(total(x, x_zero, weight), x_scale, w_scale, bias)

    return integer_linear


def _corrected(correction: Callable[[Any, int, Any], Any]) -> Callable[..., Any]:
    """With another number that is taken away from the sums."""
    return _with(lambda x, z, w: _sums(x, w) - correction(x, z, w))


def _valued(values: Callable[[Any, float, Any, Any], Any]) -> Callable[..., Any]:
    """With values that are made of the right steps in another way."""
    return _with(values=values)


# --- the correction -------------------------------------------------------------------------------

no_zero_point = _corrected(lambda x, z, w: 0)
NO_ZERO_POINT = (
    "{worst}: the zero point is left out. A code stands for x_scale · (q − x_zero), so x_zero · Σ "
    "q_w is to be taken away from each sum."
)
added = _corrected(lambda x, z, w: -z * w.sum(1))
ADDED = "{worst}: x_zero · Σ q_w is taken away, not added: Σ q_w (q_x − x_zero)."
other_sums = _corrected(lambda x, z, w: z * w.sum(0))
OTHER_SUMS = (
    "{worst}: you summed each input's weights. The correction has one number for each output: sum "
    "each row of `weight`, along dimension 1."
)
sums_of_codes = _corrected(lambda x, z, w: z * x.sum(1, keepdim=True))
SUMS_OF_CODES = (
    "{worst}: you summed the inputs' codes in place of the weights': the weights' zero point is "
    "0, so Σ q_x is not needed; x's zero point goes with Σ q_w."
)
sums_as_a_row = _corrected(lambda x, z, w: z * x.sum(1))
weights_by_row = _corrected(lambda x, z, w: z * w.sum(1)[:, None])
WEIGHTS_BY_ROW = "{worst}: x_zero · Σ q_w was taken away row by row; an output is a column."
zero_once = _corrected(lambda x, z, w: z)
ZERO_ONCE = (
    "{worst}: x_zero was taken away once, without the weights. It is in every product of the sum: "
    "q_w (q_x − x_zero) summed up is Σ q_w q_x − x_zero · Σ q_w."
)
zero_for_each_input = _corrected(lambda x, z, w: z * x.shape[1])
weights_in_8_bits = _corrected(lambda x, z, w: z * w.sum(1, dtype=torch.int8).int())
WEIGHTS_IN_8_BITS = (
    "{worst}: the sum of the weights' codes, or x_zero times it, wrapped round: it is no code and "
    "takes 32 bits. Try `weight.sum(1, dtype=torch.int32)`."
)
correction_in_8_bits = _corrected(lambda x, z, w: (z * w.sum(1)).to(torch.int8))


def _correction_times(scale: Callable[[float, Any], Any]) -> Callable[..., Any]:
    """Takes it away from values, with another scale than theirs."""

    def integer_linear(
        x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
    ) -> Any:
        correction = scale(x_scale, w_scale) * (x_zero * weight.sum(1))
        return x_scale * w_scale * _sums(x, weight) - correction + bias

    return integer_linear


correction_unscaled = _correction_times(lambda sx, sw: 1)
CORRECTION_UNSCALED = "{worst}: x_zero · Σ q_w counts in steps too: take it from the sums."
by_x_scale = _correction_times(lambda sx, sw: sx)
by_w_scale = _correction_times(lambda sx, sw: sw)
corrected_in_floats = _correction_times(lambda sx, sw: sx * sw)
CORRECTED_IN_FLOATS = (
    "which is {off} steps off: the sums reach {most}, where float32 has no room for every whole "
    "number, and nearly all of it is taken away again. Take x_zero · Σ q_w away from Σ q_w q_x "
    "while both are whole, and multiply by the scales afterwards."
)

# --- the product ----------------------------------------------------------------------------------

_NARROW = "A product of two codes takes 15 bits and a sign, a sum more: sum in 32, by `int_matmul`."
_INSTEAD = ": take x_zero · Σ q_w away from the sums instead."
wraps = _with(lambda x, z, w: _sums(x - z, w))
WRAPS = "{worst}: x − x_zero has nine bits and wrapped round in int8" + _INSTEAD
cuts_codes_off = _with(lambda x, z, w: _sums((x.int() - z).clamp(-128, 127).to(torch.int8), w))
CUTS_CODES_OFF = "{worst}: x − x_zero has nine bits and was cut off in int8" + _INSTEAD
in_8_bits = _with(lambda x, z, w: x @ w.t() - z * w.sum(1))
IN_8_BITS = ("{worst}: only 8 bits were kept of the sums, and they wrapped round. ") + _NARROW
all_in_8_bits = _with(lambda x, z, w: _total(x, z, w).to(torch.int8))
in_16_bits = _with(lambda x, z, w: (x.short() - z) @ w.short().t())
IN_16_BITS = ("{worst}: only 16 bits were kept of the sums, and they wrapped round. ") + _NARROW
all_in_16_bits = _with(lambda x, z, w: x.short() @ w.short().t() - z * w.sum(1))
transposed = _with(lambda x, z, w: _sums(w, x) - z * w.sum(1))
TRANSPOSED = (
    "{worst}: rows and outputs have changed places: x is (rows, in) and weight (out, in), so the "
    "product is x times `weight.t()`."
)
transposed_at_the_end = _with(lambda x, z, w: _total(x, z, w).t())
other_weight = _with(lambda x, z, w: _sums(x, w.t()) - z * w.sum(1))
OTHER_WEIGHT = "{worst}: the weight was used as if it were (in, out): multiply by `weight.t()`."
other_weight_and_sums = _with(lambda x, z, w: _total(x, z, w.t()))
in_float32 = _with(lambda x, z, w: x.float() @ w.float().t() - z * w.sum(1))
in_float16 = _with(lambda x, z, w: (x.half() @ w.half().t()).float() - z * w.sum(1))
IN_FLOATS = (
    "codes were multiplied in {kind}, where whole numbers are exact up to 2^{bits} only{end}; "
    "{many}. Multiply them with `int_matmul`, which sums up in 32 bits."
)
in_float64 = _with(
    lambda x, z, w: (x.double() - z) @ w.double().t(),
    lambda total, sx, sw, b: (sx * sw * total + b).float(),
)
IN_FLOAT64 = (
    "codes were multiplied in {kind}. That is exact, and takes eight bytes where a code has one, "
    "and none of the instructions for bytes: multiply them with `int_matmul`."
)


def dequantized(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    from torch.nn import functional

    return functional.linear(x_scale * (x.float() - x_zero), weight * w_scale[:, None], bias)


DEQUANTIZED = (
    "codes were turned into values first, and these multiplied in {kind}: a layer as it always "
    "was, and nothing is gained. Multiply the codes with `int_matmul`, scales come behind."
)


# --- the values -----------------------------------------------------------------------------------

no_bias = _valued(lambda total, sx, sw, b: sx * sw * total)
NO_BIAS = "{worst}: the bias is missing."
bias_scaled = _valued(lambda total, sx, sw, b: sx * sw * (total + b))
BIAS_SCALED = (
    "{worst}: the bias was multiplied by a scale. The bias is a value already: add it behind the "
    "scales, or divide it by x_scale · w_scale first."
)
bias_by_x_scale = _valued(lambda total, sx, sw, b: sx * (sw * total + b))
bias_by_w_scale = _valued(lambda total, sx, sw, b: sw * (sx * total + b))
bias_cut = _valued(lambda total, sx, sw, b: (total + (b / (sx * sw)).int()) * (sx * sw))
BIAS_CUT = (
    "{worst}: the bias in steps was cut off instead of rounded, which is up to a whole step off: "
    "use `torch.round` in front of the conversion."
)
scales_by_row = _valued(lambda total, sx, sw, b: sx * sw[:, None] * total + b)
SCALES_BY_ROW = (
    "{worst}: a scale or a bias was used row by row. There is one for each output, and so a "
    "column: `w_scale` and `bias` fit the last dimension as they are."
)
bias_by_row = _valued(lambda total, sx, sw, b: sx * sw * total + b[:, None])
both_by_row = _valued(lambda total, sx, sw, b: sx * sw[:, None] * total + b[:, None])
no_x_scale = _valued(lambda total, sx, sw, b: sw * total + b)
NO_X_SCALE = "{worst}: `x_scale` is left out: a step is x_scale · w_scale."
no_w_scale = _valued(lambda total, sx, sw, b: sx * total + b)
NO_W_SCALE = "{worst}: `w_scale` is left out: a step is x_scale · w_scale."
no_scales = _valued(lambda total, sx, sw, b: total + b)
NO_SCALES = "{worst}: both scales are left out: a step is x_scale · w_scale."
w_scale_twice = _valued(lambda total, sx, sw, b: sx * sw**2 * total + b)
W_SCALE_TWICE = "{worst}: the sums were taken times `w_scale` twice: a step is x_scale · w_scale."
mean_scale = _valued(lambda total, sx, sw, b: sx * sw.mean() * total + b)
MEAN_SCALE = "{worst}: there is one scale for all outputs, such as the mean; each has its own."
largest_scale = _valued(lambda total, sx, sw, b: sx * sw.max() * total + b)
first_scale = _valued(lambda total, sx, sw, b: sx * sw[0] * total + b)
left_whole = _valued(lambda total, sx, sw, b: total + (b / (sx * sw)).round().int())
LEFT_WHOLE = (
    "you returned whole numbers ({type}). These are still steps, or values cut off: times x_scale "
    "· w_scale they become values, which are floats."
)


def in_place(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    w_scale *= x_scale
    return _total(x, x_zero, weight) * w_scale + bias


IN_PLACE = "you wrote into `{argument}`: whoever holds it uses it again. Work on a new tensor."
