"""Mistakes that are recognised because a known wrong answer does just the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from helpers.exercises.compare import close
from helpers.exercises.spec import Case, Driver, Look, Observation

_TOLERANCE = 1e-9


def same(got: Any, want: Any) -> bool:
    """Whether two plain values are equal, their numbers to nine digits."""
    if isinstance(want, dict):
        return isinstance(got, dict) and all(k in got and same(got[k], want[k]) for k in want)
    if isinstance(want, list | tuple):
        return (
            isinstance(got, list | tuple)
            and len(got) == len(want)
            and all(same(g, w) for g, w in zip(got, want, strict=True))
        )
    if isinstance(want, float | np.ndarray):
        return close(np.asarray(got), want, _TOLERANCE)
    return bool(got == want)


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
