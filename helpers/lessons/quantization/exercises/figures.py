"""What this lesson's exercises share: numbers in words, lists of numbers compared, claims."""

from collections.abc import Callable, Iterator
from functools import update_wrapper
from typing import Any

import numpy as np

from helpers.checks.compare import is_array, number, told_apart
from helpers.checks.drives.requests import returned
from helpers.checks.spec import Case, Observation

Found = str | tuple[str, Any]


class Claim:
    """A claim that asks one thing after the other: two answers that are wrong in the same way are
    told the same sentence first, whatever follows from that.

    find: gives what is wrong, in order: a sentence, and with it, where the sentence tells too much
    or not enough, what tells answers apart that are wrong there.
    """

    def __init__(self, find: Callable[[Case, Observation], Iterator[Found]]) -> None:
        self.find = find
        update_wrapper(self, find)

    def __call__(self, case: Case, seen: Observation) -> str | None:
        return self._first(case, seen)[0]

    def compared(self, case: Case, seen: Observation) -> Any:
        """What tells one wrong answer from another; None of a right one."""
        return self._first(case, seen)[1]

    def _first(self, case: Case, seen: Observation) -> tuple[str | None, Any]:
        found = next(self.find(case, seen), None)
        return found if isinstance(found, tuple) else (found, found)


def said(value: float) -> str:
    """A number with at most five digits and a real minus sign."""
    return f"{value:.5g}".replace("-", "−")


def farthest(
    got: np.ndarray, want: np.ndarray, step: np.ndarray | float = 1.0
) -> tuple[int, str, str]:
    """The place of the number that is most steps off, counted through, and in words what is there
    and what should be. What is no number comes first."""
    with np.errstate(all="ignore"):
        off = np.abs(got.astype(np.float64) - want) / step
    at = int(np.argmax(np.nan_to_num(off, nan=np.inf)))
    here, asked = told_apart(float(got.flat[at]) + 0.0, float(want.flat[at]) + 0.0)  # no −0
    return at, here.replace("-", "−"), asked.replace("-", "−")


def other_type(codes: np.ndarray) -> str:
    """What is said to codes that are right and no int8."""
    return (
        f"the codes are right and stand there as torch.{codes.dtype.name}, "
        f"{codes.itemsize} B each: `.to(torch.int8)` once they are whole, and clamped."
    )


def parts(seen: Observation, length: int) -> list[Any]:
    """The things that an answer returned, so many; each is None where it returned others."""
    value = returned(seen.values[0])
    fits = type(value) in (tuple, list) and len(value) == length
    return list(value) if fits else [None] * length


def single(value: Any) -> np.ndarray:
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
