"""The hidden tests of the notebooks, for those who grade with nbgrader; students never get this."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.exercises import find
from helpers.exercises.check import judged

HIDDEN_SEEDS = (1, 2, 3)


def require(number: str, function: Callable[..., Any]) -> None:
    """Raise AssertionError with the hint unless `function` passes the hidden cases too.

    For the hidden tests of a notebook; writes nothing.
    """
    exercise = find(number)
    if not callable(function):
        said = f"`{exercise.function}` is not a function."
        raise AssertionError(said)  # nbgrader expects nothing else
    result = judged(exercise, function, seeds=(0, *HIDDEN_SEEDS))
    if not result.passed:
        raise AssertionError(result.hint)
