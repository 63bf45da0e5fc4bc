"""Comparators: plain values against what was asked for, and words for both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_ROUNDING = 1e-5


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


def alike(one: Any, other: Any, clocked: Sequence[str] = ()) -> bool:
    """Whether two plain values are the same but for rounding, and for what depends on time.

    clocked: keys whose values depend on it. A key that is None in the second was not seen there.
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return bool(
            one.dtype == other.dtype
            and one.shape == other.shape
            and np.allclose(one, other, _ROUNDING, _ROUNDING, equal_nan=True)
        )
    if isinstance(one, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(alike(a, b, clocked) for a, b in pairs)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            alike(one[key], value, clocked)
            for key, value in other.items()
            if key not in clocked and value is not None
        )
    if isinstance(one, float):
        return bool(np.isclose(one, other, _ROUNDING, _ROUNDING, equal_nan=True))
    return bool(one == other)


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
