"""Numbers of this lesson's exercises in words, and lists of numbers compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from helpers.exercises.compare import is_array, number, told_apart
from helpers.exercises.drives.arguments import returned
from helpers.exercises.spec import Case, Observation

Array = NDArray[Any]


def said(value: float) -> str:
    """A number with at most five digits and a real minus sign."""
    return f"{value:.5g}".replace("-", "−")


def said_apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers so, with more digits where it takes these to tell them apart."""
    texts = told_apart(one, other)
    return texts[0].replace("-", "−"), texts[1].replace("-", "−")


def near(got: float, want: float, tolerance: float = 1e-4) -> bool:
    """Whether two numbers are the same but for rounding in single precision, and a little more."""
    return abs(got - want) <= tolerance * abs(want)


def alike(got: Any, want: Any) -> bool:
    """Whether an array holds just these numbers, of whatever type."""
    return type(got) is np.ndarray and got.shape == want.shape and bool(np.all(got == want))


def other_type(case: Case, seen: Observation) -> str:
    """What is said to codes, the first thing returned, that are right and no int8."""
    codes = returned(seen.values[0])[0]
    return (
        f"the codes are right and stand there as torch.{codes.dtype.name}, "
        f"{codes.itemsize} B each: `.to(torch.int8)` once they are whole, and clamped."
    )


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
