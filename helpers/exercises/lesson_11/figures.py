"""Numbers of this lesson's exercises in words, and lists of numbers compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.exercises.compare import is_array, number

Array = NDArray[Any]


def said(value: float) -> str:
    """A number with at most five digits and a real minus sign."""
    return f"{value:.5g}".replace("-", "−")


def near(got: float, want: float, tolerance: float = 1e-4) -> bool:
    """Whether two numbers are the same but for rounding in single precision, and a little more."""
    return abs(got - want) <= tolerance * abs(want)


def alike(got: Any, want: Any) -> bool:
    """Whether an array holds just these numbers, of whatever type."""
    return type(got) is np.ndarray and got.shape == want.shape and bool(np.all(got == want))


def kind(values: Array) -> str:
    """An array's type as torch calls it, such as "torch.int8"."""
    return f"torch.{values.dtype.name}"


def items(value: Any, length: int) -> list[Any] | None:
    """The items of a tuple or list of this length, None for anything else."""
    return list(value) if type(value) in (tuple, list) and len(value) == length else None


def single(value: Any) -> Array:
    """Numbers as they are compared with a known answer's, which may be as exact or less."""
    with np.errstate(all="ignore"):
        return np.asarray(value, np.float32)


def what(value: Any) -> Any:
    """What somebody returned, without the numbers: shapes but for ones, in lists and tuples."""
    if type(value) in (tuple, list):
        return [what(item) for item in value]
    if number(value) is not None:
        return "a number"
    return [size for size in value.shape if size > 1] if is_array(value) else type(value).__name__
