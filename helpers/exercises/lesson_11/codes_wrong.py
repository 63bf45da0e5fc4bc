"""Wrong answers to exercise 11.1: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _widened(values: Any, low: float, high: float) -> tuple[float, float]:
    return min(low, 0.0), max(high, 0.0)


def _by_steps(low: float, high: float, bits: int) -> float:
    return (high - low) / (2**bits - 1)


def _whole(low: float, scale: float, bits: int) -> float:
    return -(2 ** (bits - 1)) - round(low / scale)


def _clamped(codes: Any, bits: int) -> Any:
    return codes.clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1).to(torch.int8)


def _nearest(values: Any, scale: float, zero: float, bits: int) -> Any:
    return _clamped(torch.round(values / scale) + zero, bits)


def _with(
    *,
    ends: Callable[[Any, float, float], tuple[float, float]] = _widened,
    scale: Callable[[float, float, int], float] = _by_steps,
    zero: Callable[[float, float, int], float] = _whole,
    codes: Callable[[Any, float, float, int], Any] = _nearest,
) -> Callable[..., Any]:
    """The range, the scale by that and the bits, the zero point by the low end, then the codes."""

    def quantize(values: Any, low: float, high: float, bits: int = 8) -> Any:
        low, high = ends(values, low, high)
        step = scale(low, high, bits)
        zero_point = zero(low, step, bits)
        return codes(values, step, zero_point, bits), step, zero_point

    return quantize


_right = _with()

# --- the scale ------------------------------------------------------------------------------------

one_step_too_many = _with(scale=lambda low, high, b: (high - low) / 2**b)
ONE_STEP_TOO_MANY = (
    "the scale is {scale}: that is the width by {codes}. There are {codes} codes, and they have "
    "one step fewer between them: divide by {steps}."
)
half_of_the_codes = _with(scale=lambda low, high, b: (high - low) / (2 ** (b - 1) - 1))
HALF_OF_THE_CODES = (
    "the scale is {scale}: that is the width by the codes on one side of 0. The range has all "
    "{codes} codes, with {steps} steps between them."
)
eight_bits = _with(scale=lambda low, high, b: (high - low) / 255)
EIGHT_BITS = "the scale is {scale}: these are the steps of 8 bits; {bits} bits have {steps}."
upside_down = _with(scale=lambda low, high, b: (2**b - 1) / (high - low))
UPSIDE_DOWN = "the scale is {scale}: so many steps has a unit. A step is the width by {steps}."
symmetric = _with(scale=lambda low, high, b: max(-low, high) / (2 ** (b - 1) - 1))
MAGNITUDE = (
    "the scale is {scale}: it comes from the largest magnitude, as on a grid that reaches as far "
    "below 0 as above. Here it is the width, {low} to {high}, by {steps}."
)
symmetric_range = _with(scale=lambda low, high, b: 2 * max(-low, high) / (2**b - 1))
not_widened = _with(ends=lambda values, low, high: (low, high))
NOT_WIDENED = (
    "the scale is {scale}: it covers the range as it is given, in which 0 has no code. First widen "
    "the range so that it holds 0: {low} to {high}."
)
own_ends = _with(ends=lambda v, low, high: _widened(v, float(v.min()), float(v.max())))
OWN_ENDS = (
    "the scale is {scale}: it comes from the values' own smallest and largest. The range is given, "
    "`low` to `high`; what lies beyond it gets the first or the last code."
)

# --- the zero point -------------------------------------------------------------------------------

between = _with(zero=lambda low, s, b: -(2 ** (b - 1)) - low / s)
BETWEEN = "the zero point is {zero}, and 0 lies between two codes: round it to a whole number."
zero_cut = _with(zero=lambda low, s, b: -(2 ** (b - 1)) + int(-low / s))
NEIGHBOUR = (
    "0 lies at {exact}, and the zero point is {zero}, next to the right one: the fraction was cut "
    "off, as `int` and `floor` do, and not rounded. Take the nearest whole number, `round`."
)
zero_cut_towards_0 = _with(zero=lambda low, s, b: int(-(2 ** (b - 1)) - low / s))
sign = _with(zero=lambda low, s, b: -(2 ** (b - 1)) + round(low / s))
SIGN = (
    "the zero point is {zero}: there the way from the low end to 0 is counted with the wrong sign. "
    "The low end, {low}, has the code {lowest}, and 0 lies {away} steps above it."
)
negated = _with(zero=lambda low, s, b: 2 ** (b - 1) + round(low / s))
float_zero = _with(zero=lambda low, s, b: float(_whole(low, s, b)))
FLOAT_ZERO = (
    "the zero point is the float {zero}. It is a code, and whole: in 11.3 sums of codes are taken "
    "times it, and a float makes floats of them. Python's own `round` gives an int."
)
around_0 = _with(zero=lambda low, s, b: 0)
AROUND_0 = (
    "the zero point is {zero}: the code 0 stands for the value 0 only on a symmetric grid. Here "
    "the low end has the code {lowest}, and 0 lies {away} steps above it."
)
lowest_too_high = _with(zero=lambda low, s, b: 1 - 2 ** (b - 1) - round(low / s))
LOWEST_TOO_HIGH = "the zero point is {zero}, one too many: the lowest code is {lowest}."


def _counted_from_0(values: Any, scale: float, zero: float, bits: int) -> Any:
    """Up to 255, which takes 16 bits where there is a sign."""
    return (torch.round(values / scale) + zero).clamp(0, 2**bits - 1).to(torch.int16)


unsigned = _with(zero=lambda low, s, b: -round(low / s), codes=_counted_from_0)
UNSIGNED = (
    "the zero point is {zero}: so the codes count from 0 on, up to {steps}, which int8 does not "
    "hold. The lowest code is {lowest}: shift all of them by that."
)

# --- the codes ------------------------------------------------------------------------------------

cut = _with(codes=lambda v, s, z, bits: _clamped(v / s + z, bits))
CUT = "{first} Turning to whole numbers cuts off what comes after the point: `round` first."
steps_cut = _with(codes=lambda v, s, z, bits: _clamped((v / s).int() + z, bits))
rounded_down = _with(codes=lambda v, s, z, bits: _clamped(torch.floor(v / s) + z, bits))
not_clamped = _with(codes=lambda v, s, z, bits: (torch.round(v / s).int() + z).to(torch.int8))
NOT_CLAMPED = (
    "{value} lies beyond the range and got the code {code}. Clamp to {lowest} … {highest} before "
    "the codes become int8, which wraps around."
)
eight_bit_ends = _with(codes=lambda v, s, z, bits: _nearest(v, s, z, 8))
EIGHT_BIT_ENDS = "{first} −128 and 127 end 8 bits; {bits} bits end at {lowest} and {highest}."
codes_from_0 = _with(codes=lambda v, s, z, bits: _nearest(v, s, z, bits).int() + 2 ** (bits - 1))
CODES_FROM_0 = "{first} All codes count from 0 on, the zero point does not: subtract 2^(bits−1)."
not_added = _with(codes=lambda v, s, z, bits: _nearest(v, s, 0, bits))
NOT_ADDED = "{first} These are steps from the value 0: add the zero point, {right_zero}."
subtracted = _with(codes=lambda v, s, z, bits: _nearest(v, s, -z, bits))
SUBTRACTED = "{first} The zero point was subtracted: values are scale · (code − zero_point)."
narrow = _with(codes=lambda v, s, z, bits: _nearest(v, s, z, bits).clamp(min=1 - 2 ** (bits - 1)))
NARROW = "{first} The code {lowest} is in use too: it is left out on a symmetric grid alone."
times_scale = _with(codes=lambda v, s, z, bits: _nearest(v, 1 / s, z, bits))
TIMES_SCALE = "{first} You multiplied by the scale: a value is so many steps, value / scale."
values_back = _with(codes=lambda v, s, z, bits: s * (_nearest(v, s, z, bits) - z))
VALUES_BACK = "you gave the values that the codes stand for: give the codes themselves."
floats = _with(codes=lambda v, s, z, bits: _nearest(v, s, z, bits).float())


def _clamped_first(values: Any, scale: float, zero: float, bits: int) -> Any:
    steps = torch.round(values / scale).clamp(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return (steps + zero).to(torch.int32).to(torch.int8)


def _in_place(values: Any, scale: float, zero: float, bits: int) -> Any:
    return _clamped(values.div_(scale).round_().add_(zero), bits)


clamped_first = _with(codes=_clamped_first)
CLAMPED_FIRST = (
    "{first} The steps were clamped before the zero point was added: add it first, for {lowest} "
    "and {highest} are the ends of the codes."
)
in_place = _with(codes=_in_place)
IN_PLACE = (
    "`quantize` wrote into `values`: whoever called it may need them still. Functions whose names "
    "end in `_`, and `out=`, change their tensor."
)


def clamped_as_given(values: Any, low: float, high: float, bits: int = 8) -> Any:
    return _right(values.clamp(low, high), low, high, bits)


CLAMPED_AS_GIVEN = "{first} Values between the range and 0 have codes too: clamp codes."


def from_the_low_end(values: Any, low: float, high: float, bits: int = 8) -> Any:
    _, scale, zero = _right(values, low, high, bits)
    return _nearest(values - min(low, 0.0), scale, -(2 ** (bits - 1)), bits), scale, zero


FROM_THE_LOW_END = (
    "{first} You counted from the low end, which has no code of its own once the zero point is "
    "rounded: count the steps from 0, value / scale, and add the zero point."
)


def codes_last(values: Any, low: float, high: float, bits: int = 8) -> Any:
    codes, *grid = _right(values, low, high, bits)
    return *grid, codes


CODES_LAST = "the order is another: `codes, scale, zero_point` was asked for."
