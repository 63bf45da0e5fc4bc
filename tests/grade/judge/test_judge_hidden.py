"""No feedback shows a hidden case: what a student is told is the same where there is none.

A reason is one of a few sentences, with the mistake's name. A hint is made of the cases that the
lesson shows, by processes that have seen no other. So that hidden cases decide here, the judge
skips the shown ones at first; once they are real ones, and once the shown ones stand in for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.checks import find, of_lesson
from helpers.checks.encoding import encode
from helpers.checks.spec import Case, Exercise
from helpers.grade.grades import ExerciseGrade, SubmissionGrade
from helpers.grade.judge import Judge, verdicts
from helpers.grade.judge.budgets import BUDGETS, Clock
from helpers.grade.report.sheet import Column, Entry, Sheet
from helpers.grade.report.write import write_reports
from helpers.grade.roster import Person
from tests.grade.judge.here import SEED, JudgeHere

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
MARK = "In a case that nobody is to see"
# Lessons whose answers run without a sandbox, and a wrong answer of each exercise.
HERE = ("02", "06", "11", "13")
REASONS = (
    *verdicts._ON_HIDDEN.values(),
    *verdicts._ON_VISIBLE.values(),
    "Right on all cases, those that the lesson shows and others.",
)
OTHERS = (
    "Right on the virtual clock; on real ranks ",
    "It builds on exercise ",
    "The time for the whole submission was used up",
)
ENDINGS = ("", "incomplete", "deadlock", "no end", "crash", "signature", "exception")


def with_hidden_first(exercise: Exercise, real: bool) -> Exercise:
    """The exercise, none of whose shown cases is there when the judge asks for them first.

    real: whether the hidden cases are hidden ones. Their name would be seen wherever a word is made
    of them.
    """
    asked: list[int] = []

    def cases(seed: int) -> list[Case]:
        if seed:
            return [replace(one, name=MARK) for one in exercise.cases(seed if real else 0)]
        asked.append(seed)
        return exercise.cases(0) if len(asked) > 1 else []

    return replace(exercise, cases=cases)


def set_hidden_first(one: Judge, real: bool) -> None:
    """Let hidden cases alone decide."""
    one.exercises = [with_hidden_first(exercise, real) for exercise in of_lesson(one.lesson)]


def is_fixed(exercise: Exercise, found: ExerciseGrade) -> bool:
    """Whether a reason is one of the sentences that there are, with a name of the spec's."""
    names = {one.name for one in (*exercise.wrong, *exercise.mistakes)} | {*ENDINGS}
    said = found.reason.partition(" It builds on exercise ")[0]
    named = said.endswith(f": {found.mistake}.") and found.mistake in names
    begun = said.removesuffix(f": {found.mistake}.") if named else said
    return begun.rstrip(".") in {one.rstrip(".") for one in REASONS} or begun.startswith(OTHERS)


def numbers(values: Any) -> set[str]:
    """The numbers in some values as a sentence may show them, those long enough to tell."""
    found: set[str] = set()
    for value in np.asarray(list(_leaves(encode(values))), dtype=float):
        shown = {f"{value:.{digits}g}" for digits in (4, 5, 6, 8, 17)} | {repr(float(value))}
        found |= {text for text in shown if len(re.sub(r"\D", "", text)) >= 4}
    return found


def _leaves(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def handed_out(found: SubmissionGrade, out: Path) -> str:
    """All that a student gets of a grade."""
    columns = tuple(Column(e.number, e.title, e.max) for e in found.exercises)
    entry = Entry("ada-0", found, (), Person(), True)
    write_reports(Sheet(found.lesson, "It", "bubblewrap", "k", "g", columns, (entry,)), out)
    files = [p for p in out.rglob("*") if p.is_file() and p.name not in ("grades.json", "style")]
    return "\n".join(p.read_text(encoding="utf-8") for p in files)


def tell_the_same(
    exercises: list[Exercise], one: SubmissionGrade, other: SubmissionGrade, folder: Path
) -> int:
    """Hold what is told of hidden cases against what is told where the shown ones stand in for
    them; returns how many exercises ended the same way in both."""
    text, without = (handed_out(g, folder / str(i)) for i, g in enumerate((one, other)))
    assert MARK not in text + without
    compared = 0
    for exercise in exercises:
        a, b = (next(e for e in g.exercises if e.number == exercise.number) for g in (one, other))
        assert is_fixed(exercise, a), a
        if (a.outcome, a.mistake) == (b.outcome, b.mistake):
            assert (a.reason, a.hint) == (b.reason, b.hint)
            compared += a.outcome != "passed"
        told, known = (set(NUMBER.findall(one)) for one in (text, without))
        shown = numbers([case.args for case in exercise.cases(0)])
        hidden = numbers([case.args for case in exercise.cases(SEED)])
        assert not told & hidden - shown - known, exercise.number
    return compared


@pytest.mark.parametrize("lesson", HERE)
def test_what_is_told_is_the_same_whatever_the_hidden_cases_are(
    lesson: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercises = of_lesson(lesson)
    functions = {e.number: e.wrong[0].function for e in exercises}
    found = []
    for real in (True, False):
        here = JudgeHere(monkeypatch, lesson, functions)
        set_hidden_first(here.judge, real)
        found.append(here.grade())
    assert tell_the_same(exercises, *found, tmp_path)


def test_parts_of_a_report_are_told_by_fresh_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    class Session:
        clock = Clock(BUDGETS)

        def give_up(self, crashed: bool = True) -> None:
            done.append("fresh")

        def states(self) -> Any:
            done.append("asked")
            raise LookupError

    def parts(parts: Any, path: Any, ask: Any, seed: int) -> list[Any]:
        with pytest.raises(LookupError):
            ask(find("18.5"), None)
        return []

    monkeypatch.setattr("helpers.grade.judge.report.grade_parts", parts)
    session: Any = Session()
    Judge("18", slot=69)._parts(tmp_path / "it.ipynb", session, 1)
    assert done == ["fresh", "asked"]
