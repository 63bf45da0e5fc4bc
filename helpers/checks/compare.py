"""Comparators: plain values against what was asked for, and words for both."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Other:
    """Stands for a value that is neither a number, a text, an array nor a collection of these."""

    kind: str


def is_array(value: Any, shape: tuple[int, ...] | None = None) -> bool:
    """Whether a value is exactly a numpy array of numbers, of this shape where one is given."""
    if type(value) is not np.ndarray or value.dtype.kind not in "biufc":
        return False
    return shape is None or value.shape == shape


def close(got: Any, want: Any, tolerance: float = 1e-5) -> bool:
    """Whether two arrays have one shape and the same finite values to a relative tolerance.

    The tolerance is relative to the largest wanted value, since sums in another order differ so.
    """
    want = np.asarray(want)
    if not is_array(got, want.shape):
        return False
    if want.size == 0:
        return True
    scale = float(np.max(np.abs(want))) or 1.0
    with np.errstate(all="ignore"):
        return bool(np.all(np.abs(got - want) <= tolerance * scale))


def all_close(got: Iterable[Any], want: Iterable[Any], tolerance: float = 1e-5) -> bool:
    """Whether two lists of arrays are as long and pairwise close."""
    got, want = list(got), list(want)
    return len(got) == len(want) and all(
        close(g, w, tolerance) for g, w in zip(got, want, strict=True)
    )


def in_single_precision(got: Iterable[Any], want: Iterable[Any]) -> bool:
    """Whether arrays are as wanted to float32's seven digits and no further."""
    got, want = list(got), list(want)
    return all_close(got, want, 1e-5) and not all_close(got, want, 1e-10)


def rounded(got: Iterable[Any], want: Iterable[Any]) -> str:
    """How "these are not the right numbers" goes on where float32 is why; "" elsewhere."""
    if not in_single_precision(got, want):
        return ""
    return (
        ": they agree to seven digits, so something was float32 on the way, as `torch.zeros(…)` "
        "is; `x.new_zeros(…)` takes x's type"
    )


def agree(one: Any, other: Any) -> bool:
    """Whether two plain values are equal; floating-point numbers to rounding, NaN like NaN."""
    if isinstance(other, np.ndarray) and other.dtype.kind == "f":
        return type(one) is np.ndarray and one.shape == other.shape and _near(one, other)
    if isinstance(other, np.ndarray):
        return type(one) is np.ndarray and one.dtype == other.dtype and np.array_equal(one, other)
    if type(one) is not type(other):
        return False
    if isinstance(other, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(agree(a, b) for a, b in pairs)
    if isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[k], v) for k, v in other.items())
    if isinstance(other, float):
        return _near(np.asarray(one), np.asarray(other))
    return bool(one == other)


def _near(one: np.ndarray, other: np.ndarray) -> bool:
    """Close, relative to the largest number: sums in another order differ so."""
    if one.dtype != other.dtype:
        return False
    tolerance = 1e-6 if one.dtype == np.float64 else 1e-5 if one.dtype == np.float32 else 1e-2
    finite = np.isfinite(other)
    scale = float(np.max(np.abs(other[finite]), initial=0.0)) or 1.0
    with np.errstate(all="ignore"):
        return bool(np.allclose(one, other, 0.0, tolerance * scale, equal_nan=True))


def number(value: Any) -> float | None:
    """A plain or zero-dimensional number as a float; None for anything else."""
    if type(value) in (int, float):
        return float(value)
    if is_array(value, ()):
        return float(value)
    return None


def describe(value: Any, long: int = 60) -> str:
    """A value in words, short: numbers as they are, a larger array by its shape."""
    if value is None:
        return "None"
    if type(value) is np.ndarray:
        if value.ndim == 0:
            return short(value.item())
        if value.ndim == 1 and value.size <= 6:
            return "[" + ", ".join(short(v) for v in value.tolist()) + "]"
        inner = ", ".join(map(str, value.shape)) + ("," if value.ndim == 1 else "")
        return f"a tensor of shape ({inner})"
    if isinstance(value, Other):
        return f"a {value.kind}"
    if isinstance(value, list | tuple) and len(value) <= 6:
        text = ", ".join(describe(v) for v in value)
        text = f"[{text}]" if isinstance(value, list) else f"({text})"
    else:
        text = short(value)
    return text if len(text) <= long else text[: long - 1] + "…"


def short(value: Any) -> str:
    """A number with at most five significant digits, or any other value's text."""
    if isinstance(value, float):
        return f"{value:.5g}"
    return str(value)


def told_apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers with five significant digits, or as many more as it takes to tell them apart."""
    for form in (".5g", *(f"#.{digits}g" for digits in range(6, 18))):
        texts = format(one, form).rstrip("."), format(other, form).rstrip(".")
        if texts[0] != texts[1]:
            break
    return texts


def count(amount: int, noun: str, plural: str = "") -> str:
    """ "1 row", "2 rows"."""
    return f"{amount} {noun if amount == 1 else plural or noun + 's'}"


def listing(items: Iterable[Any]) -> str:
    """ "1, 2, 3 and 5"."""
    words = [str(item) for item in items]
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


def times(got: float, want: float) -> str:
    """How many times too much, such as "2.5×"."""
    return f"{got / want:.3g}×"


def worlds(cases: Iterable[Any]) -> str:
    """ "1, 2, 3 and 5 ranks": the world sizes of some cases."""
    sizes = sorted({case.ranks for case in cases})
    return listing(sizes) + (" rank" if sizes == [1] else " ranks")


def numbers_in(value: Any, amount: int) -> list[float] | None:
    """A list or a tuple of so many numbers, as floats; None for anything else."""
    if type(value) not in (list, tuple) or len(value) != amount:
        return None
    found = [each for each in map(number, value) if each is not None]
    return found if len(found) == amount else None
