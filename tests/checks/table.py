"""Answers to an exercise and what is said to them, observed in this process.

A known wrong answer is asked for as an answer, and again wherever one has to be told from it; in a
case it is run once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from helpers.checks import find
from helpers.checks.judging import is_right, judge, judge_all
from helpers.checks.observe import observe
from helpers.checks.spec import Case, Exercise, Observation, Verdict, WrongAnswer
from helpers.checks.table import Answers, wrong_answers
from helpers.engine.launch import PRELOAD

# Seconds for one case: TensorFlow takes a while for each graph.
LIMIT = {"torch": 8.0, "tensorflow": 28.0}
Function = Callable[..., Any]


class Table:
    """One exercise's answers."""

    def __init__(self, exercise: Exercise) -> None:
        for module in PRELOAD[exercise.framework]:  # as before a check's time counts
            pytest.importorskip(module)
        self.exercise = exercise
        self.limit = LIMIT[exercise.framework]
        self._cases: dict[int, list[Case]] = {}
        # The function and the case are kept, so that no other gets their numbers.
        self._seen: dict[tuple[int, int], tuple[Function, Case, Observation]] = {}

    def cases(self, seed: int) -> list[Case]:
        """The cases of a seed, the same ones each time."""
        return self._cases.setdefault(seed, self.exercise.cases(seed))

    def see(self, function: Function, case: Case) -> Observation:
        """What a function does in a case."""
        key = id(function), id(case)
        if key not in self._seen:
            self._seen[key] = function, case, self._run(function, case)
        return self._seen[key][2]

    def _run(self, function: Function, case: Case) -> Observation:
        blind = Case(case.name, case.args, case.ranks, case.options)  # as `apart` hands it over
        return observe(self.exercise.drive, function, [blind], self.limit)[-1]

    def unended(self, function: Function) -> bool:
        """Whether it has not come to an end in a case: it goes on in this process."""
        return any(
            seen.trouble == "timeout" for one, _, seen in self._seen.values() if one is function
        )

    def run(self, exercise: Exercise, functions: Sequence[Function], case: Case) -> Any:
        """As `apart.observe_each`, for the judge."""
        return [self.see(function, case) for function in functions]

    def verdict(self, function: Function, seed: int = 0) -> Verdict:
        """What a check says to a function: the first case that is not right decides."""
        cases, seen = self.cases(seed), []
        for case in cases:
            seen.append(self.see(function, case))
            found = judge(self.exercise, case, seen[-1], self.run)
            if found.status != "passed":
                return found
        return judge_all(self.exercise, cases, seen)

    def passes(self, function: Function, seed: int) -> bool:
        """Whether every case's claim holds, without a search for the reason where one does not."""
        cases = self.cases(seed)
        return all(is_right(self.exercise, case, self.see(function, case)) for case in cases)


def verdict(exercise: Exercise, function: Function, seed: int = 0) -> Verdict:
    """What a check says to one function."""
    return Table(exercise).verdict(function, seed)


def is_told(number: str, answer: Function, words: str, seeds: Sequence[int] = (0,)) -> None:
    """That an answer is wrong, in all these cases, and what it is told in those of the lesson."""
    for seed in seeds:
        found = verdict(find(number), answer, seed)
        assert found.status == "wrong" and (seed or words in found.hint), (seed, found)


def patches_are_told(number: str, text: str) -> None:
    """The same of a table: each answer a patch of the course's own, and words of its hint."""
    exercise = find(number)
    assert isinstance(exercise.wrong, Answers)
    for answer in wrong_answers(number, text, exercise.wrong.base):
        is_told(number, answer.function, str(answer.says))


def as_far_as_right(exercise: Exercise, cases: list[Case], function: Function) -> list[Observation]:
    """What a function does in some cases, up to the first where it is wrong: that one decides."""
    seen: list[Observation] = []
    for case in cases:
        seen += observe(exercise.drive, function, [case], LIMIT[exercise.framework])
        if not is_right(exercise, case, seen[-1]):
            break
    return seen


def stub(exercise: Exercise) -> Function:
    """The function of an untouched lesson."""

    def undone(*args: Any) -> Any:
        raise NotImplementedError(f"Exercise {exercise.number} is not done yet")

    return undone


def tells(exercise: Exercise, answer: WrongAnswer, result: Verdict) -> bool:
    """Whether a wrong answer was told what is its own, and not what an unknown one is told."""
    if result.status != "wrong":
        return False
    if answer.says:
        return result.mistake == answer.name
    others = [o.hint for o in exercise.wrong if o.hint and o is not answer]
    by_family = result.mistake in [m.name for m in exercise.mistakes]
    return by_family and answer.hint in result.hint and not any(o in result.hint for o in others)
