"""Mistakes that are recognised because a known wrong answer does just the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from helpers.exercises.compare import close, describe
from helpers.exercises.spec import Case, Driver, Look, Observation

_TOLERANCE = 1e-9


def same(got: Any, want: Any) -> bool:
    """Whether two plain values are equal, their numbers to nine digits; NaN is like NaN."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(k in got and same(got[k], want[k]) for k in want)
    if isinstance(want, list | tuple):
        return (
            isinstance(got, list | tuple)
            and len(got) == len(want)
            and all(same(g, w) for g, w in zip(got, want, strict=True))
        )
    if isinstance(want, float | np.ndarray):
        return _near(np.asarray(got), np.asarray(want))
    return bool(got == want)


def _near(got: np.ndarray, want: np.ndarray) -> bool:
    """`close`, but where a known answer gives NaN or an infinity, so has the other."""
    finite = np.isfinite(want)
    if finite.all() or got.shape != want.shape or got.dtype.kind not in "biuf":
        return close(got, want, _TOLERANCE)
    lost = np.array_equal(got[~finite], want[~finite], equal_nan=True)
    return lost and close(got[finite], want[finite], _TOLERANCE)


def instead(got: Any, want: Any) -> str:
    """What an array is and what it should be; by how much it is off where both look the same."""
    if describe(got) != describe(want):
        return f"{describe(got)}; it should be {describe(want)}"
    off = float(np.max(np.abs(np.asarray(got) - np.asarray(want))))
    return f"off by {off:.1g} at the most from {describe(want)}"


def seen_of(drive: Driver, answers: Mapping[str, Callable[..., Any]], case: Case) -> dict[str, Any]:
    """What known answers do in a case, by name, for its facts: their values and how they ended."""
    found = {name: drive(answer, case) for name, answer in answers.items()}
    return {name: [seen.trouble, seen.values] for name, seen in found.items()}


def as_known(name: str, words: str) -> Look:
    """A question whether an answer does what the known answer `name` does.

    words: the hint, with the case's `facts["numbers"]` in braces.
    """

    def look(case: Case, seen: Observation) -> str | None:
        trouble, values = case.facts["known"][name]
        if seen.trouble != trouble or not same(seen.values, values):
            return None
        return f"{case.name}, {words.format(**case.facts['numbers'])}"

    return look
