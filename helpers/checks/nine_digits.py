"""What claims on weights, and on a number that a formula gives, compare: to nine digits."""

from typing import Any

import numpy as np

from helpers.checks.compare import close, describe, number, rounded, told_apart
from helpers.checks.spec import Case, Observation


def near(got: Any, want: np.ndarray) -> bool:
    """Whether numbers are as wanted, to nine digits."""
    return close(np.asarray(got), want, 1e-9)


def instead(got: Any, want: np.ndarray) -> str:
    """What an array is and what it should be; by how much it is off where both look the same."""
    why = rounded([got], [want])
    if describe(got) != describe(want):
        return f"{describe(got)}; it should be {describe(want)}{why}"
    off = float(np.max(np.abs(np.asarray(got) - want)))
    return f"off by {off:.1g} at the most from {describe(want)}{why}"


def wrong_number(case: Case, seen: Observation, said: str, unit: str = "") -> str | None:
    """What is not so, or None. said, unit: behind the given number, and behind the wanted one."""
    got, want = number(seen.values[0]), case.facts["want"]
    if got is None:
        gave = describe(seen.values[0])
        gave = f"the text {gave!r}" if type(seen.values[0]) is str else gave
        return f"{case.name}, your function gave {gave}; a number was asked for."
    if not abs(got - want) <= 1e-9 * want:
        has, should = told_apart(got, want)
        return f"{case.name}, you say {has}{said}; it should be {should}{unit}."
    return None


def compared(case: Case, seen: Observation) -> float | None:
    """The number, whatever holds it."""
    return number(seen.values[0])
