"""What exercise 11.3's layers give, as it should be and in the ways that are known to go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.exercises.compare import is_array
from helpers.exercises.drives_split import returned
from helpers.exercises.spec import Case, Observation

Array = np.ndarray


@dataclass(frozen=True)
class Numbers:
    """A case in whole numbers of 64 bits and in doubles; sums: Σ q_w q_x; weights: Σ q_w."""

    x: Array
    x_scale: float
    zero: int
    weight: Array
    w_scale: Array
    bias: Array

    @property
    def step(self) -> Array:
        """What one whole number of the sums stands for, for each output."""
        return self.x_scale * self.w_scale

    @property
    def sums(self) -> Array:
        """(rows, out)"""
        return self.x @ self.weight.T

    @property
    def weights(self) -> Array:
        """(out,)"""
        return self.weight.sum(1)

    @property
    def total(self) -> Array:
        """The output in steps, without the bias."""
        return self.sums - self.zero * self.weights


def numbers(case: Case) -> Numbers:
    """A case's arguments."""
    x, x_scale, zero, weight, w_scale, bias = case.args[0]
    return Numbers(
        *(x.astype(np.int64), x_scale, zero, weight.astype(np.int64)),
        *(w_scale.astype(np.float64), bias.astype(np.float64)),
    )


def given(seen: Observation) -> Any:
    """What the driver noted of an answer, also where it wrote into its arguments."""
    return returned(seen.values[0])


def is_output(out: Any, n: Numbers) -> bool:
    """Whether a value is floats in the right shape."""
    return is_array(out, (len(n.x), len(n.weight))) and out.dtype.kind == "f"


def agrees(out: Array, want: Array, n: Numbers) -> bool:
    """Whether values are as wanted: half a step for a rounded bias, and what float32 rounds."""
    rounding = 1e-6 * (np.abs(want).max(0) + np.abs(n.bias))
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(out - want) <= 0.5001 * n.step + rounding))


def at_worst(case: Case, out: Array, n: Numbers) -> str:
    """The number that is farthest off, in words."""
    want = right(n)
    with np.errstate(all="ignore"):
        off = np.nan_to_num(np.abs(out.astype(np.float64) - want) / n.step, nan=np.inf)
    row, column = np.unravel_index(int(off.argmax()), off.shape)
    pair = float(out[row, column]), float(want[row, column])
    got, wanted = next((t for t in _texts(*pair) if t[0] != t[1]), _texts(*pair)[-1])
    return f"{case.name}, output [{row}, {column}] is {got} and should be {wanted}"


def _texts(*values: float) -> list[list[str]]:
    """Numbers with few digits, and with more."""
    forms = (".5g", "#.7g", "#.9g")
    return [[format(v, form).replace("-", "−") for v in values] for form in forms]


# --- what comes out of each mistake ---------------------------------------------------------------

Way = Callable[[Numbers], Iterator[Array]]


def right(n: Numbers) -> Array:
    """As it should be."""
    return n.step * n.total + n.bias


def wrapped(values: Array, bits: int) -> Array:
    """What is left of whole numbers in so many bits."""
    half = 1 << (bits - 1)
    return (values + half) % (2 * half) - half


def no_zero_point(n: Numbers) -> Iterator[Array]:
    yield n.step * n.sums + n.bias


def added(n: Numbers) -> Iterator[Array]:
    yield n.step * (n.sums + n.zero * n.weights) + n.bias


def other_sums(n: Numbers) -> Iterator[Array]:
    if n.x.shape[1] == len(n.weight):
        yield n.step * (n.sums - n.zero * n.weight.sum(0)) + n.bias
    if n.x.shape[1] == len(n.x):
        yield n.step * (n.sums - n.zero * n.weight.sum(0)[:, None]) + n.bias


def sums_of_codes(n: Numbers) -> Iterator[Array]:
    yield n.step * (n.sums - n.zero * n.x.sum(1)[:, None]) + n.bias
    if len(n.x) == len(n.weight):
        yield n.step * (n.sums - n.zero * n.x.sum(1)) + n.bias


def weights_by_row(n: Numbers) -> Iterator[Array]:
    if len(n.x) == len(n.weight):
        yield n.step * (n.sums - n.zero * n.weights[:, None]) + n.bias


def zero_once(n: Numbers) -> Iterator[Array]:
    yield n.step * (n.sums - n.zero) + n.bias
    yield n.step * (n.sums - n.zero * n.x.shape[1]) + n.bias


def no_bias(n: Numbers) -> Iterator[Array]:
    yield n.step * n.total


def bias_scaled(n: Numbers) -> Iterator[Array]:
    yield n.step * (n.total + n.bias)
    yield n.x_scale * (n.w_scale * n.total + n.bias)
    yield n.w_scale * (n.x_scale * n.total + n.bias)


def bias_cut(n: Numbers) -> Iterator[Array]:
    yield n.step * (n.total + np.trunc(n.bias / n.step))
    yield n.step * (n.total + np.floor(n.bias / n.step))


def scales_by_row(n: Numbers) -> Iterator[Array]:
    if len(n.x) == len(n.weight):
        for bias in (n.bias, n.bias[:, None]):
            yield n.step[:, None] * n.total + bias
        yield n.step * n.total + n.bias[:, None]


def no_x_scale(n: Numbers) -> Iterator[Array]:
    yield n.w_scale * n.total + n.bias


def no_w_scale(n: Numbers) -> Iterator[Array]:
    yield n.x_scale * n.total + n.bias


def no_scales(n: Numbers) -> Iterator[Array]:
    yield n.total + n.bias


def w_scale_twice(n: Numbers) -> Iterator[Array]:
    yield n.step * n.w_scale * n.total + n.bias


def one_scale(n: Numbers) -> Iterator[Array]:
    for scale in (n.w_scale.mean(), n.w_scale.max(), n.w_scale[0]):
        yield n.x_scale * scale * n.total + n.bias


def correction_unscaled(n: Numbers) -> Iterator[Array]:
    for scale in (1.0, n.x_scale, n.w_scale):
        yield n.step * n.sums - scale * n.zero * n.weights + n.bias


def wraps(n: Numbers) -> Iterator[Array]:
    yield n.step * (wrapped(n.x - n.zero, 8) @ n.weight.T) + n.bias


def cut_to_codes(n: Numbers) -> Iterator[Array]:
    yield n.step * (np.clip(n.x - n.zero, -128, 127) @ n.weight.T) + n.bias


def in_bits(bits: int) -> Way:
    def way(n: Numbers) -> Iterator[Array]:
        yield n.step * (wrapped(n.sums, bits) - n.zero * n.weights) + n.bias
        yield n.step * wrapped(n.total, bits) + n.bias

    return way


def weights_in_8_bits(n: Numbers) -> Iterator[Array]:
    for bits in (8, 16):
        yield n.step * (n.sums - n.zero * wrapped(n.weights, bits)) + n.bias
        yield n.step * (n.sums - wrapped(n.zero * n.weights, bits)) + n.bias


def transposed(n: Numbers) -> Iterator[Array]:
    if len(n.x) == len(n.weight):
        for bias in (n.bias, n.bias[:, None]):
            for step in (n.step, n.step[:, None]):
                yield step * n.total.T + bias
        yield n.step * (n.sums.T - n.zero * n.weights) + n.bias


def other_weight(n: Numbers) -> Iterator[Array]:
    if n.x.shape[1] == len(n.weight):
        yield n.step * (n.x @ n.weight - n.zero * n.weights) + n.bias
        yield n.step * (n.x @ n.weight - n.zero * n.weight.sum(0)) + n.bias
