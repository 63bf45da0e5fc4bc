"""What the judge decides, on functions in this process: which cases it asks, and what it says."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from helpers.checks import find, of_lesson
from helpers.checks.spec import Case, Exercise, Observation
from helpers.grade.grades import ExerciseGrade, SubmissionGrade
from helpers.grade.judge.budgets import BUDGETS, Budgets, Clock
from helpers.grade.judge.session import State
from tests.grade.judge.here import JudgeHere, references
from tests.hints import is_its_own

FULL = sum(exercise.points for exercise in of_lesson("02"))
DIED, UNJUDGED = Observation(trouble="died"), Observation(trouble="not judged")


def one(found: SubmissionGrade, number: str) -> ExerciseGrade:
    return next(e for e in found.exercises if e.number == number)


def is_hidden(case: Case) -> bool:
    return case.name not in {shown.name for shown in find("02.1").cases(0)}


def in_hidden_cases(seen: Observation, times: int):
    """So many hidden cases of 02.1 end so."""
    left = [times]

    def ends(exercise: Exercise, case: Case) -> Observation | None:
        if exercise.number != "02.1" or not is_hidden(case) or not left[0]:
            return None
        left[0] -= 1
        return seen

    return ends


@pytest.mark.parametrize("lesson", ["02", "06", "13"])
def test_right_answers_get_all_points(lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = JudgeHere(monkeypatch, lesson, references(lesson)).grade()
    assert {e.outcome for e in found.exercises} == {"passed"} and found.total == found.max


def test_wrong_answers_get_their_own_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    for lesson in ("02", "07"):
        wrong = {e.number: e.wrong[0] for e in of_lesson(lesson)}
        functions = {number: each.function for number, each in wrong.items()}
        found = JudgeHere(monkeypatch, lesson, functions).grade()
        for each in found.exercises:  # nobody sees from outside what is written into an argument
            unseen = each.number == "07.4"
            mistake = wrong[each.number].name if unseen else each.mistake
            assert is_its_own(wrong[each.number], mistake, each.hint), each
            assert bool(each.points) == unseen


def test_what_is_not_there_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"02.1": State("open"), "02.3": State("failed", 4, 2, "KeyError", "'x'", "{}['x']")}
    states |= {"02.4": State("crashed", 5, shown="fit = spin()"), "02.5": State("not judged")}
    texts = ["def scatter(comm):\n    return 1", "`broadcast_tree` is slow"]
    judge = JudgeHere(monkeypatch, "02", states, texts=texts)
    found = judge.grade()
    outcomes = ["not attempted", "missing", "error", "crashed", "not judged"]
    assert [e.outcome for e in found.exercises] == outcomes and judge.calls == []
    assert "`broadcast_tree`" in one(found, "02.2").reason
    assert "`scatter` stands in a Markdown cell" in one(found, "02.1").reason
    assert "Markdown" not in one(found, "02.2").reason
    assert one(found, "02.3").hint == "Line 2 of its cell, `{}['x']`: KeyError: 'x'"
    assert "The cell that begins with `fit = spin()` ended" in one(found, "02.4").reason
    other = JudgeHere(monkeypatch, "02", {}).grade()
    assert "another lesson's" in other.note and "another" not in found.note


def test_of_a_hidden_case_the_mistakes_name_is_said_and_a_fresh_process_gives_the_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exercise = find("02.1")
    wrong = exercise.wrong[0]
    # Wrong in hidden cases alone: in the shown ones it ends as the course's own.
    shown, all_shown = list[str](), len(exercise.cases(0))

    def ends(exercise: Exercise, case: Case) -> Observation | None:
        if exercise.number == "02.1" and not is_hidden(case) and len(shown) < all_shown:
            shown.append(case.name)
            return exercise.drive(exercise.reference, case)
        return None

    judge = JudgeHere(monkeypatch, "02", references("02") | {"02.1": wrong.function}, ends)
    found = one(judge.grade(), "02.1")
    assert (found.outcome, found.points, found.mistake) == ("wrong", 0, wrong.name)
    assert found.reason.startswith("Right on the cases that the lesson shows, wrong on a hidden")
    at = judge.session.done.index("fresh")
    assert judge.session.done[at - 1 : at + 2] == ["asked", "fresh", "asked"]
    assert found.hint


@pytest.mark.parametrize("deaths, outcome", [(1, "passed"), (2, "crashed")])
def test_the_process_of_one_hidden_case_may_be_gone(
    deaths: int, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = JudgeHere(monkeypatch, "02", references("02"), in_hidden_cases(DIED, deaths))
    found = judge.grade()
    assert one(found, "02.1").outcome == outcome
    assert found.total == FULL - (0 if outcome == "passed" else one(found, "02.1").max)


def test_what_a_machine_was_too_busy_to_tell_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = JudgeHere(monkeypatch, "02", references("02"), in_hidden_cases(UNJUDGED, 1))
    found = judge.grade()
    assert [e.outcome for e in found.exercises] == ["not judged", *["passed"] * 4]
    assert (found.exercises[0].hint, found.exercises[0].mistake) == ("", "")
    assert found.exercises[0].reason == (
        "The machine was too busy to tell: nothing was decided about this answer."
    )


def test_the_time_of_an_exercise_and_of_a_submission_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each call takes 3 s: the fourth case of an exercise, then the rest of the submission.
    budgets = Budgets(call=5, exercise=9, submission=20)
    judge = JudgeHere(monkeypatch, "02", references("02"), seconds=3.0, budgets=budgets)
    found = judge.grade()
    assert judge.calls == ["02.1"] * 3 + ["02.2"] * 3 + ["02.3"]
    assert {e.outcome for e in found.exercises} == {"time-out"} and found.total == 0
    assert found.exercises[-1].mistake == "no time left"


def test_a_clock_counts_calls_exercises_and_what_could_not_be_told() -> None:
    clock = Clock(BUDGETS)
    assert clock.call == BUDGETS.call
    clock.take(35.0)
    assert clock.call == 5.0 and not clock.up
    clock.exercise()
    assert clock.call == BUDGETS.call
    clock.take(BUDGETS.submission - 35.0)
    assert clock.up and clock.call <= 0
    assert not clock.hopeless
    for _ in range(BUDGETS.undecided):
        clock.not_judged()
    assert clock.hopeless


def test_what_nobody_sees_from_outside_is_remarked_and_costs_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exercise = find("11.6")  # by which function of torch it comes, no grader sees
    wrong = next(each for each in exercise.wrong if each.name == "torch's own")
    judge = JudgeHere(monkeypatch, "11", {"11.6": wrong.function})
    found = one(judge.grade(), "11.6")
    assert (found.outcome, found.points) == ("passed", found.max)
    assert found.hint.startswith("This costs no points, for nobody can see it from outside: ")
    assert is_its_own(wrong, wrong.name, found.hint)


def test_an_answer_on_a_base_that_is_not_right_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def on_an_open_one(*args: object) -> None:
        raise NotImplementedError("Exercise 03.2 is not done yet")

    for mine, words in (
        (find("03.3").wrong[0].function, "did not pass"),
        (on_an_open_one, "is open"),
    ):
        functions = {"03.2": State("open"), "03.3": mine}
        found = one(JudgeHere(monkeypatch, "03", functions).grade(), "03.3")
        assert found.points == 0
        assert f"It builds on exercise 03.2, which {words}." in found.reason


def test_what_an_answer_keeps_from_case_to_case_gains_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A sandbox's /tmp lasts as long as its processes do; what is there is of earlier cases alone.
    def remembers(number: str, answer: Any) -> Any:
        def first_value(*args: Any) -> Any:
            path = tmp_path / f"{number} {getattr(args[0], 'rank', '')}"
            if not path.exists():
                path.write_bytes(pickle.dumps(answer(*args)))
            return pickle.loads(path.read_bytes())

        return first_value

    functions = {number: remembers(number, one) for number, one in references("02").items()}
    found = JudgeHere(monkeypatch, "02", functions).grade()
    assert {each.outcome for each in found.exercises} == {"wrong"} and len(found.exercises) == 5
    assert len([*tmp_path.iterdir()]) > 5
