"""The hidden tests of the notebooks, for those who grade with nbgrader; students never get this."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.checks import find
from helpers.checks.check import judged
from helpers.checks.judging import judge_all

HIDDEN_SEEDS = (1, 2, 3)


def require(number: str, function: Callable[..., Any]) -> None:
    """Raise AssertionError unless `function` passes the hidden cases too.

    It holds the hint of a case that the lesson shows, and of a hidden one the mistake's name alone:
    nbgrader's feedback shows it to students. For the hidden tests of a notebook; writes nothing.
    """
    exercise = find(number)
    if not callable(function):
        said = f"`{exercise.function}` is not a function."
        raise AssertionError(said)  # nbgrader expects nothing else
    result = judged(exercise, function, seeds=(0, *HIDDEN_SEEDS))
    if result.passed:
        return
    if result.status == "not run":
        raise AssertionError(result.hint)
    count = len(exercise.cases(0))
    shown = judge_all(exercise, result.cases[:count], result.seen[:count])
    if shown.status != "passed":
        raise AssertionError(shown.hint)
    mistake = judge_all(exercise, result.cases[count:], result.seen[count:]).mistake
    told = "Right on the cases that the lesson shows, wrong on a hidden one"
    raise AssertionError(f"{told}: {mistake}." if mistake else f"{told}.")
