"""Wrong answers to exercise 11.4, each with one thing exchanged; and what is said to their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _round_trip(values: Any, bound: float, bits: int) -> Any:
    """What the lesson gives, in other words: a copy in a release would look like a leak."""
    highest = 2 ** (bits - 1) - 1
    return torch.clamp(torch.round(values * highest / bound), -highest, highest) * bound / highest


def _squared(values: Any, bound: float, bits: int) -> float:
    return float((_round_trip(values, bound, bits) - values).square().mean())


def _tries(values: Any, many: int = 200) -> list[float]:
    top = float(values.abs().max())
    return [top * (n + 1) / many for n in range(many)]


def _with(
    tries: Callable[[Any], list[float]] = _tries,
    error: Callable[[Any, float, int], float] = _squared,
    given: Callable[[float, int], Any] = lambda bound, bits: bound,
) -> Callable[..., Any]:
    """The best one of some bounds, and what is given back of it."""

    def best_bound(values: Any, bits: int = 8) -> Any:
        return given(min(tries(values), key=lambda bound: error(values, bound, bits)), bits)

    return best_bound


_right = _with()


def _rounding_alone(values: Any, bound: float, bits: int) -> float:
    """Compares with the values that were cut already."""
    return float((_round_trip(values, bound, bits) - values.clamp(-bound, bound)).square().mean())


rounding_alone = _with(error=_rounding_alone)
absolute = _with(error=lambda v, bound, bits: float((_round_trip(v, bound, bits) - v).abs().mean()))
largest_error = _with(
    error=lambda v, bound, bits: float((_round_trip(v, bound, bits) - v).abs().max())
)
eight_bits = _with(error=lambda values, bound, bits: _squared(values, bound, 8))
few_candidates = _with(lambda values: [float(values.abs().max()) / 2**n for n in range(8)])
fixed_size = _with(lambda values: torch.linspace(0.01, float(values.abs().max()), 300).tolist())
largest_value = _with(lambda values: [float(values.max()) * n / 200 for n in range(1, 201)])
without_the_top = _with(lambda values: _tries(values, 100)[:-1])
scale = _with(given=lambda bound, bits: bound / (2 ** (bits - 1) - 1))
in_codes = _with(given=lambda bound, bits: float(2 ** (bits - 1) - 1))
in_a_tensor = _with(given=lambda bound, bits: torch.tensor([bound]))
IN_A_TENSOR = "you gave {value}: take the number out of it, by `float`."


def always_all(values: Any, bits: int = 8) -> Any:
    return values.abs().max()


def beyond(values: Any, bits: int = 8) -> Any:
    return 1.1 * values.abs().max()


def percentile(values: Any, bits: int = 8) -> Any:
    return float(torch.quantile(values.abs().flatten(), 0.999))


def three_deviations(values: Any, bits: int = 8) -> Any:
    return 3 * float(values.std())


def place(values: Any, bits: int = 8) -> Any:
    return torch.tensor([_squared(values, bound, bits) for bound in _tries(values)]).argmin()


def least_error(values: Any, bits: int = 8) -> Any:
    return _squared(values, _right(values, bits), bits)


def in_place(values: Any, bits: int = 8) -> Any:
    return _right(values.abs_(), bits)


IN_PLACE = (
    "`best_bound` wrote into `values`: whoever called it may need them still. Functions whose "
    "names end in `_`, and `out=`, change their tensor."
)


# What a bound is told that is wrong in one of these ways, in the order in which it is asked.
WORDS = {
    "a bound in codes": (
        "the bound is {bound}: that is the highest code, or the one after it. The bound is a "
        "value, which gets the highest code: the values here reach {top}."
    ),
    "a candidate's place": (
        "you gave the whole number {value}: the place of a candidate in your list? Give the "
        "candidate that stands there."
    ),
    "the error instead of the bound": (
        "you gave {bound}: that is the error itself, the least one. Give the bound that leaves "
        "it, about {about}."
    ),
    "bounds of a fixed size": (
        "the bound is {bound}, and the values reach only {top}, as small as a weight's may be. "
        "Are your candidates of a fixed size? Make them parts of the largest magnitude."
    ),
    "nothing is ever cut": (
        "the bound is the largest magnitude, {top}. Nothing is cut off, and all steps are coarse "
        "for the sake of a few values: {beside}."
    ),
    "the largest value, not magnitude": (
        "the bound is {bound}. The values end at {largest}, which is the largest value, and they "
        "reach down to −{top}: a bound holds on both sides of 0. Look for it up to the largest "
        "magnitude, `values.abs().max()`."
    ),
    "the scale instead of the bound": (
        "you gave {bound}: that is a scale, one step of a good grid. The bound is as far as its "
        "highest code reaches, {highest} steps."
    ),
    "the largest magnitude is no candidate": (
        "the bound is {bound}, and nothing is to be cut here: the largest magnitude, {top}, "
        "belongs among the candidates."
    ),
    "a fixed number of standard deviations": (
        "the bound {bound} is {deviations} standard deviations, whatever the bits and the shape "
        "of the values: {beside}. Try bounds and compare their errors."
    ),
    "a fixed percentile": (
        "{within} % of the magnitudes lie within the bound {bound}; as a rule for all values and "
        "bits that cannot be best: here {beside}. Try bounds and compare their errors."
    ),
    "what is cut off costs nothing": (
        "the bound {bound} cuts off {beyond} % of the values. These lose more than all others "
        "gain by finer steps: compare with the values themselves, all of them, before any was "
        "cut; {beside}."
    ),
    "always 8 bits": (
        "the bound {bound} would be best for codes of 8 bits. With {bits} bits the steps are "
        "coarser, and more is worth cutting: hand `bits` on."
    ),
    "least absolute error": (
        "the bound {bound} has the least mean absolute error, which hardly minds a few values "
        "far off; the squared one does: {beside}."
    ),
    "least largest error": (
        "the bound {bound} makes the largest single error as small as can be, for the sake of "
        "one value; the mean over all was asked for: {beside}."
    ),
    "beyond the largest magnitude": (
        "the bound is {bound}, and no value lies beyond {top}: codes would be wasted on values "
        "that do not occur."
    ),
    "candidates far apart": (
        "the bound {bound} is the right size and not yet the best: {beside}. Your candidates may "
        "lie too far apart: take a hundred or more, up to the largest magnitude."
    ),
}
