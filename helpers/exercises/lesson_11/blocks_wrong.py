"""Wrong answers to exercise 11.7: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

VALUES = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])


def _nearest(x: Any) -> Any:
    """The nearest of VALUES with the sign, ties to the even mantissa."""
    size = x.abs()
    exponent = (torch.frexp(size).exponent - 1).clamp(0, 2)
    step = torch.ldexp(torch.ones_like(size), exponent - 1)
    return torch.copysign((torch.round(size / step) * step).clamp(max=6.0), x)


def _exponents(x: Any) -> Any:
    largest = x.abs().amax(-1)
    found = torch.frexp(largest).exponent - 1 - 2
    return torch.where(largest > 0, found, -127)


def _with(
    exponents: Callable[[Any], Any] = _exponents,
    nearest: Callable[[Any], Any] = _nearest,
    last: Callable[[Any, Any, Any], Any] = lambda x, exponents, elements: (exponents, elements),
) -> Callable[[Any], Any]:
    def mxfp4(x: Any) -> Any:
        found = exponents(x)
        scale = torch.ldexp(torch.ones(len(x), dtype=torch.float64), found).float()
        return last(x, found, nearest(x / scale[:, None]))

    return mxfp4


def _log2(x: Any) -> Any:
    return x.abs().amax(-1).clamp(min=1e-30).log2()


def _closest_in_the_list(x: Any) -> Any:
    """Of two that are equally near the lower one."""
    apart = (x.abs()[..., None] - VALUES).abs()
    return torch.copysign(VALUES[apart.argmin(-1)], x)


def _away(x: Any) -> Any:
    """Of two that are equally near the larger one."""
    apart = (x.abs()[..., None] - VALUES.flip(0)).abs()
    return torch.copysign(VALUES.flip(0)[apart.argmin(-1)], x)


def _down(x: Any) -> Any:
    return torch.copysign(VALUES[torch.searchsorted(VALUES, x.abs(), right=True) - 1], x)


without_top = _with(exponents=lambda x: _exponents(x) + 2)
WITHOUT_TOP = (
    "{block} has the exponent {got}: that is ⌊log2⌋ of its largest magnitude. The largest element, "
    "6, has an exponent of its own, 2: take it off, {want}."
)
as_frexp_has_it = _with(exponents=lambda x: torch.frexp(x.abs().amax(-1)).exponent - 2)
AS_FREXP_HAS_IT = (
    "{block} has the exponent {got}, one too many: `torch.frexp` gives mantissas below 1, so that "
    "its exponent is ⌊log2⌋ + 1. It is {want}."
)
rounded_log = _with(exponents=lambda x: torch.round(_log2(x)).int() - 2)
ROUNDED_LOG = (
    "{block} has the exponent {got}: log2 was rounded to the nearest whole number. It is rounded "
    "down, so that the largest magnitude over the scale is 4 or more: {want}."
)
rounded_up = _with(exponents=lambda x: torch.ceil(_log2(x)).int() - 2)
ROUNDED_UP = (
    "{block} has the exponent {got}: log2 was rounded up. Rounded down it is {want}, and nothing "
    "is lost but what is cut at 6."
)
that_fits = _with(
    exponents=lambda x: torch.ceil((x.abs().amax(-1).clamp(min=1e-30) / 6).log2()).int()
)
THAT_FITS = (
    "{block} has the exponent {got}: the smallest with which its largest magnitude is 6 at most. "
    "The standard takes ⌊log2⌋ − 2, {want}, and cuts what is beyond 6."
)
over_six_rounded = _with(exponents=lambda x: torch.round(_log2(x / 6)).int())
over_six = _with(exponents=lambda x: torch.floor(_log2(x / 6)).int())
OVER_SIX = (
    "{block} has the exponent {got}: 6 was divided by before the logarithm was rounded. The "
    "exponent of 6, which is 2, is taken off afterwards: {want}."
)
not_rounded = _with(exponents=lambda x: _log2(x) - 2)
NOT_ROUNDED = (
    "{block} has the exponent {got}: a scale is a power of two, and of log2 only the whole part "
    "counts, rounded down: {want}."
)
natural = _with(exponents=lambda x: torch.floor(x.abs().amax(-1).clamp(min=1e-30).log()).int() - 2)
NATURAL = (
    "{block} has the exponent {got}: that is of the natural logarithm. Take the one to the base 2: "
    "{want}."
)
log_in_float32 = _with(
    exponents=lambda x: torch.where(x.any(-1), torch.floor(_log2(x)).int() - 2, -127)
)
LOG_IN_FLOAT32 = (
    "{block} has the exponent {got}: its largest magnitude lies just below a power of two, and "
    "float32 rounded the logarithm up to a whole number before you rounded it down. `torch.frexp` "
    "takes the number itself apart: {want}."
)
of_the_mean = _with(exponents=lambda x: torch.frexp(x.abs().mean(-1)).exponent - 3)
OF_THE_MEAN = (
    "{block} has the exponent {got}: that is of the mean magnitude. The largest decides, or all "
    "that is far above the mean is cut: {want}."
)
for_all = _with(exponents=lambda x: _exponents(x.reshape(1, -1)).expand(len(x)))
FOR_ALL = (
    "{block} has the exponent {got}, as all blocks do: that of the largest magnitude of all. Each "
    "block has a scale of its own: {want}."
)
signed_largest = _with(exponents=lambda x: torch.frexp(x.amax(-1).clamp(min=1e-30)).exponent - 3)
SIGNED_LARGEST = (
    "{block} has the exponent {got}: its largest number decided, and a negative one is larger in "
    "magnitude. Take `abs` first: {want}."
)
no_zero = _with(exponents=lambda x: torch.frexp(x.abs().amax(-1)).exponent - 3)
NO_ZERO = (
    "{block} holds zeros alone, and has the exponent {got}. log2 of 0 says nothing: take the "
    "smallest, −127, as was asked for."
)
biased = _with(last=lambda x, e, v: (e + 127, v))
BIASED = (
    "{block} has the exponent {got}: that is the code that it is held as, 127 more. Give the "
    "exponent itself, {want}."
)
column = _with(last=lambda x, e, v: (e[:, None], v))
COLUMN = "the exponents came as a column, ({rows}, 1): give one number a block, ({rows},)."
scales = _with(last=lambda x, e, v: (torch.ldexp(torch.ones(len(x)), e), v))
SCALES = "you gave scales: give their exponents, whole numbers, which is what a block holds."
products = _with(last=lambda x, e, v: (e, torch.ldexp(v, e[:, None])))
PRODUCTS = (
    "{number} of {block} is {element} instead of {right}: these are the elements times the scale. "
    "Give the elements alone, between −6 and 6."
)
TIMES = (
    "{number} of {block} is {element} instead of {right}: it was multiplied by the scale. Divide "
    "by 2^exponent: `torch.ldexp(x, -exponents[:, None])`."
)
CODES = (
    "{number} of {block} is {element} instead of {right}: these are codes of 4 bits. Give the "
    "numbers that they stand for."
)
lower_tie = _with(nearest=_closest_in_the_list)
TIE = (
    "{number} of {block} is {element} instead of {right}: over the scale it lies in the middle "
    "between two elements. Of these the one with an even mantissa counts: 0, 1, 2 and 4."
)
larger_tie = _with(nearest=_away)
DOWN = (
    "{number} of {block} is {element} instead of {right}: it was rounded towards 0. Take the "
    "nearest element."
)
down = _with(nearest=_down)
whole_steps = _with(nearest=lambda x: torch.round(x).clamp(-6, 6))
WHOLE_STEPS = (
    "{number} of {block} is {element} instead of {right}: you rounded to whole numbers. Elements "
    "are 0, 0.5, 1, 1.5, 2, 3, 4 and 6: steps of 0.5 up to 2, of 1 up to 4, then of 2."
)
half_steps = _with(nearest=lambda x: (torch.round(x * 2) / 2).clamp(-6, 6))
HALF_STEPS = (
    "{number} of {block} is {element} instead of {right}: there is no such element. Steps are 0.5 "
    "up to 2, then 1 up to 4, then 2: two bits of exponent and one of mantissa."
)


def _not_cut(x: Any) -> Any:
    size = x.abs()
    exponent = (torch.frexp(size).exponent - 1).clamp(min=0)
    step = torch.ldexp(torch.ones_like(size), exponent - 1)
    return torch.copysign(torch.round(size / step) * step, x)


not_cut = _with(nearest=_not_cut)
NOT_CUT = (
    "{number} of {block} is {element} instead of {right}: beyond 6 there is no element, and what "
    "is beyond becomes 6."
)
no_half = _with(nearest=lambda x: torch.where(x.abs() < 0.75, 0.0 * x, _nearest(x)))
NO_HALF = (
    "{number} of {block} is {element} instead of {right}: below 1 there is one element more, 0.5, "
    "which has no leading 1 in its mantissa."
)
no_sign = _with(nearest=lambda x: _nearest(x).abs())
NO_SIGN = "{number} of {block} is {element} instead of {right}: the sign is gone."


def times(x: Any) -> Any:
    exponents = _exponents(x)
    return exponents, _nearest(torch.ldexp(x, exponents[:, None]))


def codes(x: Any) -> Any:
    exponents, elements = _with()(x)
    places = torch.searchsorted(VALUES, elements.abs())
    return exponents, places + 8 * torch.signbit(elements)


def in_place(x: Any) -> Any:
    exponents = _exponents(x)
    scale = torch.ldexp(torch.ones(len(x), dtype=torch.float64), exponents).float()
    return exponents, _nearest(x.div_(scale[:, None]))


IN_PLACE = "`mxfp4` wrote into `x`: whoever called it may need it still."


def other_order(x: Any) -> Any:
    exponents, elements = _with()(x)
    return elements, exponents


OTHER_ORDER = "the order is another: `exponents, elements` was asked for."
