"""The judge on the course's own answers: the solution, the untouched lesson, every wrong answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from submissions import as_cell, code_cells, solution, untouched, write

from helpers.checks import everything, lessons, of_lesson
from helpers.checks.report import parts_of
from helpers.checks.spec import Exercise
from helpers.grade.grades import ExerciseGrade, SubmissionGrade
from helpers.grade.sandbox import missing
from helpers.grade.seen import HINTS
from tests.grade.judge.here import SEED, Judges
from tests.hints import is_its_own

MISSING = missing()
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=MISSING or ""),
]

EXERCISES = everything()
# Each lesson starts sandboxes of its own. Everyday 02, TensorFlow's 08, and 13, whose drivers are
# beside the answer; what is told and decided is held by test_exercises and test_judge_here.
EVERYDAY = ("02", "08", "13")
# The n-th wrong answers of a lesson's exercises make one submission.
WRONG = [
    pytest.param(
        [e for e in of_lesson(lesson) if len(e.wrong) > n],
        n,
        id=f"{lesson}-{n}",
        marks=[] if (lesson, n) == ("02", 0) else [pytest.mark.thorough],
    )
    for lesson in lessons()
    for n in range(max(len(e.wrong) for e in of_lesson(lesson)))
]
# The second exercise of each lesson, which others come before and after.
ONE_EACH = [e for e in EXERCISES if e.number in {of_lesson(n)[:2][-1].number for n in lessons()}]


def named(value: Any) -> str:
    return str(getattr(value, "number", getattr(value, "name", value)))


def grade(judges: Judges, path: Path, lesson: str) -> SubmissionGrade:
    return judges(lesson).grade(path, "ada", SEED).grade


def one(found: SubmissionGrade, number: str) -> ExerciseGrade:
    return next(e for e in found.exercises if e.number == number)


@pytest.mark.sample(*EVERYDAY)
@pytest.mark.parametrize("lesson", lessons())
def test_the_solution_gets_full_points(
    judges: Judges, lesson: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for the logbook of lesson 18, as if it were a student's."""
    monkeypatch.setattr("helpers.grade.judge.report.SOLUTION", Path("nobody's.ipynb"))
    found = grade(judges, solution(lesson), lesson)
    by_hand = [part for part in parts_of(lesson) if part.by_hand]
    read = [part.number for part in by_hand]
    for each in found.exercises:
        assert each.outcome == ("by hand" if each.number in read else "passed"), each
    parts = sum(part.points for part in parts_of(lesson))
    assert found.max == sum(e.points for e in EXERCISES if e.lesson == lesson) + parts
    assert found.total == found.max - sum(part.points for part in by_hand)


@pytest.mark.sample("02")
@pytest.mark.parametrize("lesson", lessons())
def test_the_untouched_lesson_gets_none(judges: Judges, lesson: str) -> None:
    found = grade(judges, untouched(lesson), lesson)
    read = [part.number for part in parts_of(lesson) if part.by_hand]
    for each in found.exercises:
        assert each.outcome == ("by hand" if each.number in read else "not attempted"), each
    assert found.total == 0


@pytest.mark.parametrize(("exercises", "n"), WRONG)
def test_wrong_answers_get_no_points_and_their_hints(
    judges: Judges, tmp_path: Path, exercises: list[Exercise], n: int
) -> None:
    sources = [as_cell(exercise, exercise.wrong[n].function) for exercise in exercises]
    path = write(tmp_path / "wrong.ipynb", sources)
    graded = grade(judges, path, exercises[0].lesson)
    for exercise in exercises:
        found, wrong = one(graded, exercise.number), exercise.wrong[n]
        assert found.outcome not in ("not attempted", "missing")
        if found.outcome == "passed":  # the list names what nobody sees from outside
            assert exercise.number in HINTS and "nobody can see it from outside" in found.hint
            assert wrong.says or wrong.hint in found.hint
            continue
        assert found.points == 0
        # Also where real ranks alone give it away: what lies with the answer, no grader sees.
        assert is_its_own(wrong, found.mistake, found.hint), found


@pytest.mark.thorough
@pytest.mark.parametrize("exercise", ONE_EACH, ids=named)
def test_the_same_wrong_answer_costs_only_its_own_exercise(
    judges: Judges, tmp_path: Path, exercise: Exercise
) -> None:
    # The first of 05.2 writes into an argument, which costs nothing.
    wrong = as_cell(exercise, exercise.wrong[exercise.number == "05.2"].function)
    sources = [*code_cells(solution(exercise.lesson)), wrong]
    if exercise.number == "03.2":  # 03.3 builds on it, and keeps the right one by another name
        sources.insert(-1, "average = average_gradients")
    found = grade(judges, write(tmp_path / "one_wrong.ipynb", sources), exercise.lesson)
    parts = {part.number for part in parts_of(exercise.lesson)}  # of a report: not of one function
    lost = [e.number for e in found.exercises if not e.points and e.number not in parts]
    assert lost == [exercise.number]


@pytest.mark.thorough
def test_an_answer_on_a_wrong_base_is_told_so(judges: Judges, tmp_path: Path) -> None:
    bases = ["def average_gradients(comm, model, rows, total):\n    pass", OPEN]
    for base, reason in zip(bases, ["which did not pass", "which is open"], strict=True):
        cells = code_cells(solution("03"))
        sources = [base if "def average_gradients" in cell else cell for cell in cells]
        found = grade(judges, write(tmp_path / "it.ipynb", sources), "03")
        assert one(found, "03.2").points == one(found, "03.3").points == 0
        assert f"It builds on exercise 03.2, {reason}." in one(found, "03.3").reason


OPEN = (
    "def average_gradients(comm, model, rows, total):\n"
    "    if comm:\n        raise NotImplementedError('Exercise 03.2 is not done yet')\n"
)
