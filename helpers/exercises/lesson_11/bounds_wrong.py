"""Wrong answers to exercise 11.4, the ones that people really write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _round_trip(values: Any, bound: float, bits: int) -> Any:
    """What the lesson gives, in other words: a copy in a release would look like a leak."""
    highest = 2 ** (bits - 1) - 1
    return torch.clamp(torch.round(values * highest / bound), -highest, highest) * bound / highest


def _tries(values: Any, many: int = 200) -> list[float]:
    top = float(values.abs().max())
    return [top * (n + 1) / many for n in range(many)]


def _squared(values: Any, bits: int) -> Callable[[float], float]:
    return lambda bound: float((_round_trip(values, bound, bits) - values).square().mean())


def fixed_size(values: Any, bits: int = 8) -> Any:
    """Candidates from 0.01 up to the largest magnitude, also where that is smaller."""
    tries = torch.linspace(0.01, float(values.abs().max()), 300).tolist()
    return min(tries, key=_squared(values, bits))


def always_all(values: Any, bits: int = 8) -> Any:
    """Cuts nothing."""
    return values.abs().max()


def percentile(values: Any, bits: int = 8) -> Any:
    """99.9 %."""
    return float(torch.quantile(values.abs().flatten(), 0.999))


def rounding_alone(values: Any, bits: int = 8) -> Any:
    """Compares with the values that were cut already."""

    def error(bound: float) -> float:
        cut = values.clamp(-bound, bound)
        return float((_round_trip(values, bound, bits) - cut).square().mean())

    return min(_tries(values), key=error)


def three_deviations(values: Any, bits: int = 8) -> Any:
    """3σ."""
    return 3 * float(values.std())


def absolute(values: Any, bits: int = 8) -> Any:
    """Mean absolute error."""
    return min(
        _tries(values), key=lambda b: float((_round_trip(values, b, bits) - values).abs().mean())
    )


def largest_error(values: Any, bits: int = 8) -> Any:
    """The largest error."""
    return min(
        _tries(values), key=lambda b: float((_round_trip(values, b, bits) - values).abs().max())
    )


def few_candidates(values: Any, bits: int = 8) -> Any:
    """The largest magnitude, a half of it, a quarter and so on."""
    top = float(values.abs().max())
    return min([top / 2**n for n in range(8)], key=_squared(values, bits))


def scale(values: Any, bits: int = 8) -> Any:
    """Tries scales, and returns the best of these."""
    highest = 2 ** (bits - 1) - 1
    error = _squared(values, bits)
    return min([b / highest for b in _tries(values)], key=lambda step: error(step * highest))


def in_codes(values: Any, bits: int = 8) -> Any:
    """The bound in steps of its own."""
    best = min(_tries(values), key=_squared(values, bits))
    return best / (best / (2 ** (bits - 1) - 1))


def place(values: Any, bits: int = 8) -> Any:
    """The place of the least error."""
    error = _squared(values, bits)
    return torch.tensor([error(bound) for bound in _tries(values)]).argmin()


def least_error(values: Any, bits: int = 8) -> Any:
    """The least error."""
    return min(map(_squared(values, bits), _tries(values)))


def eight_bits(values: Any, bits: int = 8) -> Any:
    """Does not hand the bits on."""
    return min(_tries(values), key=_squared(values, 8))


def largest_value(values: Any, bits: int = 8) -> Any:
    """Up to the largest value."""
    top = float(values.max())
    return min([top * (n + 1) / 200 for n in range(200)], key=_squared(values, bits))


def without_the_top(values: Any, bits: int = 8) -> Any:
    """`range(1, 100)` hundredths."""
    return min(_tries(values, 100)[:-1], key=_squared(values, bits))


def in_place(values: Any, bits: int = 8) -> Any:
    """Right, and values are all positive afterwards."""
    values.abs_()
    return min(_tries(values), key=_squared(values, bits))
