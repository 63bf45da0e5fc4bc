"""What exercise 11.6 gives there and back, as it should be and where it is known to go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.exercises.compare import close, describe, is_array
from helpers.exercises.lesson_11.figures import said
from helpers.exercises.spec import Case

Array = np.ndarray


@dataclass(frozen=True)
class Numbers:
    """A case's arguments in doubles; above: the gradient that comes from above."""

    x: Array
    scale: float
    zero: int
    lowest: int
    highest: int
    above: Array

    @property
    def steps(self) -> Array:
        """x in whole steps."""
        return np.round(self.x / self.scale)

    @property
    def codes(self) -> Array:
        """The code of each value, clamped."""
        return self.clamped(self.steps + self.zero)

    @property
    def inside(self) -> Array:
        """Where the code lies between the ends before it is clamped."""
        return self.between(self.steps + self.zero)

    @property
    def back(self) -> Array:
        """The gradient that comes back."""
        return np.where(self.inside, self.above, 0.0)

    def clamped(self, codes: Array) -> Array:
        """No code beyond the ends."""
        return np.clip(codes, self.lowest, self.highest)

    def between(self, codes: Array) -> Array:
        """Which ones lie between the ends."""
        return (codes >= self.lowest) & (codes <= self.highest)

    def values(self, codes: Array) -> Array:
        """What codes stand for."""
        return (codes - self.zero) * self.scale


def numbers(case: Case) -> Numbers:
    """A case's arguments."""
    x, scale, zero, lowest, highest, above = case.args[0]
    return Numbers(x.astype(np.float64), scale, zero, lowest, highest, above.astype(np.float64))


def is_output(out: Any, n: Numbers) -> bool:
    """Whether a value is floats in x's shape."""
    return is_array(out, n.x.shape) and out.dtype.kind == "f"


def same(got: Any, want: Array) -> bool:
    """Whether values are the same but for what float32 rounds."""
    return close(got, want, 1e-5)


def value_at_worst(case: Case, out: Array, n: Numbers) -> str:
    """The value that is farthest off, in words."""
    want, place = n.values(n.codes), 0
    with np.errstate(all="ignore"):
        place = int(np.argmax(np.nan_to_num(np.abs(out - want), nan=np.inf)))
    x, got, right = (said(float(each.flat[place])) for each in (n.x, out, want))
    return f"{case.name}, {x} became {got} and should become {right}"


def gradient_at_worst(case: Case, gradient: Any, n: Numbers) -> str:
    """The gradient that is farthest off, in words."""
    want = n.back
    if not is_array(gradient, want.shape):
        return f"{case.name}, x's gradient is {describe(gradient)}"
    with np.errstate(all="ignore"):
        place = int(np.argmax(np.nan_to_num(np.abs(gradient - want), nan=np.inf)))
    x, above, got, right = (
        said(float(each.flat[place])) for each in (n.x, n.above, gradient, want)
    )
    return (
        f"{case.name}, where x is {x} the gradient {above} came back as {got} and should be {right}"
    )


# --- what the values tell -------------------------------------------------------------------------

Way = Callable[[Numbers], Iterator[Array]]


def codes(n: Numbers) -> Iterator[Array]:
    yield n.codes
    yield n.steps + n.zero
    yield n.codes - n.zero
    yield n.clamped(n.steps)


def no_clamp(n: Numbers) -> Iterator[Array]:
    yield n.values(n.steps + n.zero)


def ends_as_values(n: Numbers) -> Iterator[Array]:
    yield n.clamped(n.steps * n.scale)
    yield np.round(n.clamped(n.x) / n.scale) * n.scale
    yield n.values(n.clamped(n.values(n.steps + n.zero)))


def no_zero_point(n: Numbers) -> Iterator[Array]:
    yield n.clamped(n.steps) * n.scale


def zero_point_stays(n: Numbers) -> Iterator[Array]:
    yield n.codes * n.scale


def zero_point_leaves(n: Numbers) -> Iterator[Array]:
    yield n.values(n.clamped(n.steps))
    yield n.clamped(n.steps - n.zero) * n.scale + n.zero * n.scale


def cut_off(n: Numbers) -> Iterator[Array]:
    for cut in (np.trunc, np.floor, np.ceil):
        yield n.values(n.clamped(cut(n.x / n.scale) + n.zero))
        yield n.values(n.clamped(cut(n.x / n.scale + n.zero)))


def not_at_all(n: Numbers) -> Iterator[Array]:
    yield n.x
    yield np.clip(n.x, *n.values(np.array([n.lowest, n.highest])))


# --- what the gradient tells ----------------------------------------------------------------------


def nothing(n: Numbers) -> Iterator[Array]:
    yield np.zeros_like(n.above)


def everywhere(n: Numbers) -> Iterator[Array]:
    yield n.above


def times_scale(n: Numbers) -> Iterator[Array]:
    for mask in (n.inside, 1.0):
        yield n.above * mask * n.scale


def over_scale(n: Numbers) -> Iterator[Array]:
    for mask in (n.inside, 1.0):
        yield n.above * mask / n.scale


def by_values(n: Numbers) -> Iterator[Array]:
    yield n.above * n.between(n.x / n.scale + n.zero)


def one_end(n: Numbers) -> Iterator[Array]:
    codes = n.steps + n.zero
    yield n.above * (codes >= n.lowest)
    yield n.above * (codes <= n.highest)


def without_ends(n: Numbers) -> Iterator[Array]:
    codes = n.steps + n.zero
    yield n.above * ((codes > n.lowest) & (codes < n.highest))
    yield n.above * ((codes >= n.lowest) & (codes < n.highest))
    yield n.above * ((codes > n.lowest) & (codes <= n.highest))


def without_zero(n: Numbers) -> Iterator[Array]:
    yield n.above * n.between(n.steps)
    yield n.above * n.between(n.x / n.scale)


def x_as_codes(n: Numbers) -> Iterator[Array]:
    yield n.above * n.between(n.x)


def turned_round(n: Numbers) -> Iterator[Array]:
    yield n.above * ~n.inside


def mask_alone(n: Numbers) -> Iterator[Array]:
    yield n.inside.astype(np.float64)
    yield np.ones_like(n.above)


def of_the_last_call(n: Numbers) -> Iterator[Array]:
    yield n.above * n.between(n.zero - n.steps)
