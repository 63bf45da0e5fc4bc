"""Every exercise: the reference passes, the stub is open, each wrong answer gets its own hint."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from helpers.exercises import everything, find, of_lesson
from helpers.exercises.judging import is_right, judge, judge_all
from helpers.exercises.observe import observe
from helpers.exercises.spec import Case, Exercise, Observation, Verdict, WrongAnswer
from helpers.instructor.hidden import HIDDEN_SEEDS
from tests.exercises.loaded import load

EXERCISES = everything()
# Seconds for one case: TensorFlow takes a while for each graph.
LIMIT = {"torch": 8.0, "tensorflow": 28.0}
WRONG = [(exercise, answer) for exercise in EXERCISES for answer in exercise.wrong]


def named(value: Any) -> str:
    """A test's name, such as "02.1" or "cuts with rows // N"."""
    return str(getattr(value, "number", getattr(value, "name", value)))


def verdict(exercise: Exercise, function: Callable[..., Any], seed: int = 0) -> Verdict:
    """Judge a function in this process, as the check does in another."""
    load(exercise.framework)
    cases = exercise.cases(seed)
    return judge_all(exercise, cases, as_far_as_right(exercise, cases, function))


def as_far_as_right(
    exercise: Exercise, cases: list[Case], function: Callable[..., Any]
) -> list[Observation]:
    """What a function does in some cases, up to the first where it is wrong: that one decides."""
    seen: list[Observation] = []
    for case in cases:
        seen += observe(exercise.drive, function, [case], LIMIT[exercise.framework])
        if judge(exercise, case, seen[-1]).status != "passed":
            break
    return seen


def passes(exercise: Exercise, function: Callable[..., Any], seed: int) -> bool:
    """Whether every case's claim holds."""
    load(exercise.framework)
    return all(
        is_right(exercise, case, seen)
        for case in exercise.cases(seed)
        for seen in observe(exercise.drive, function, [case], LIMIT[exercise.framework])
    )


def stub(exercise: Exercise) -> Callable[..., Any]:
    """The function of an untouched lesson."""

    def undone(*args: Any) -> Any:
        raise NotImplementedError(f"Exercise {exercise.number} is not done yet")

    return undone


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_the_reference_passes_on_the_visible_and_on_hidden_cases(exercise: Exercise) -> None:
    for seed in (0, *HIDDEN_SEEDS, 11, 12):
        result = verdict(exercise, exercise.reference, seed)
        assert result.status == "passed", (seed, result.hint)
    assert result.hint.startswith("Passed")


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_the_stub_counts_as_not_attempted(exercise: Exercise) -> None:
    result = verdict(exercise, stub(exercise))
    assert result.status == "not attempted"
    assert result.hint == f"Exercise {exercise.number} is not done yet."


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_each_wrong_answer_gets_its_own_hint_and_each_family_is_met(exercise: Exercise) -> None:
    results = {answer.name: told(exercise, answer) for answer in exercise.wrong}
    missed = [
        f"{answer.name}: {results[answer.name]}"
        for answer in exercise.wrong
        if not tells(exercise, answer, results[answer.name])
    ]
    assert not missed, "\n".join(missed)
    met = {result.mistake for result in results.values()}
    assert {m.name for m in exercise.mistakes} <= met, "a family without a known answer"


def told(exercise: Exercise, answer: WrongAnswer) -> Verdict:
    """What a wrong answer is told."""
    return verdict(exercise, answer.function)


def tells(exercise: Exercise, answer: WrongAnswer, result: Verdict) -> bool:
    """Whether a wrong answer was told what is its own, and not what an unknown one is told."""
    if result.status != "wrong":
        return False
    if answer.says:
        return result.mistake == answer.name
    others = [o.hint for o in exercise.wrong if o.hint and o is not answer]
    by_family = result.mistake in [m.name for m in exercise.mistakes]
    return by_family and answer.hint in result.hint and not any(o in result.hint for o in others)


@pytest.mark.parametrize(("exercise", "answer"), WRONG, ids=named)
def test_a_wrong_answer_fails_on_hidden_cases_alone(
    exercise: Exercise, answer: WrongAnswer
) -> None:
    # One seed each, and each seed in turn, for all of them would take three times as long. Why it
    # is wrong there is asked of the first alone: for that all known answers run in those cases.
    place = exercise.wrong.index(answer)
    seed = HIDDEN_SEEDS[place % len(HIDDEN_SEEDS)]
    if place == 0:
        assert verdict(exercise, answer.function, seed).status == "wrong"
    else:
        assert not passes(exercise, answer.function, seed)


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_a_spec_is_complete(exercise: Exercise) -> None:
    assert len(exercise.wrong) >= 3
    names = [m.name for m in exercise.mistakes] + [w.name for w in exercise.wrong if w.says]
    assert len(set(names)) == len(names)
    assert all(bool(answer.says) != bool(answer.hint) for answer in exercise.wrong)
    assert 1 <= exercise.stars <= 3 and exercise.points >= 1 and exercise.minutes >= 5
    assert exercise in of_lesson(exercise.lesson)
    assert all(
        exercise.number in inspect.getsource(inspect.getmodule(f) or inspect)
        for f in (exercise.cases, exercise.claim)
    )
    # The same seed gives the same cases, another seed others.
    first, again = exercise.cases(0), exercise.cases(0)
    assert [c.name for c in first] == [c.name for c in again]
    # A rank exercise is checked on 1, 2, 3 and 5 ranks at least.
    if max(c.ranks for c in first) > 1:
        assert {1, 2, 3, 5} <= {c.ranks for c in first}


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_any_answer_at_all_is_judged_without_an_exception(exercise: Exercise) -> None:
    def returns(value: Any) -> Callable[..., Any]:
        return lambda *args: value

    for value in (None, 0, 1.5, "text", [], [None], {}, (1, 2), [[0]], object(), float("nan")):
        result = verdict(exercise, returns(value))
        assert result.status == "wrong", (value, result)
        assert result.hint


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_a_forged_observation_is_judged_without_an_exception(exercise: Exercise) -> None:
    case = exercise.cases(0)[0]
    for seen in (
        Observation(),
        Observation(values=[None] * case.ranks),
        Observation(values=["?"] * 99, bytes=[0], messages=[0]),
        Observation(trouble="failed", kind="ValueError", text=""),
        Observation(trouble="deadlock", waiting={0: "waits"}),
        Observation(trouble="died", text="gone"),
    ):
        assert judge(exercise, case, seen).status == "wrong"
    assert judge_all(exercise, exercise.cases(0), []).status == "wrong"


def test_what_the_driver_gets_holds_no_facts() -> None:
    seen: list[Case] = []

    def drive(fn: Callable[..., Any], case: Case) -> Observation:
        seen.append(case)
        return Observation(trouble="not done")

    exercise = find("02.1")
    assert all(case.facts for case in exercise.cases(0))
    # As `apart` hands them over.
    blind = [Case(c.name, c.args, c.ranks, c.options) for c in exercise.cases(0)]
    observe(drive, exercise.reference, blind)
    assert not any(case.facts for case in seen)


# --- the table of the example exercise ----------------------------------------------------------


def said_to(name: str) -> str:
    """What the check says to one of the wrong answers of 02.1."""
    exercise = find("02.1")
    answer = next(a for a in exercise.wrong if a.name == name)
    return verdict(exercise, answer.function).hint


def test_scatter_says_what_the_example_says() -> None:
    assert said_to("loses the remainder") == (
        "On 3 ranks with 5 rows, rank 2 got 1 row; it should get 2. Rows 3 and 4 reached nobody: "
        "`rows // N` loses the remainder."
    )
    assert said_to("sends the whole batch to everyone") == (
        "The slices are right, but rank 0 sent 2.5× the bytes it had to (320 B instead of 128 B): "
        "send each rank only its slice."
    )
    assert said_to("sends to itself") == (
        "Rank 0 waits for a message from rank 0, which nobody will receive. "
        "Keep your own part without sending it."
    )
    exercise = find("02.1")
    assert verdict(exercise, exercise.reference).hint == (
        "Passed on 1, 2, 3 and 5 ranks; rank 0 sent exactly what it had to."
    )
