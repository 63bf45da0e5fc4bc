"""Every exercise: right answers pass, the stub is open, each wrong answer gets its own hint."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from helpers.checks import everything, find, of_lesson
from helpers.checks.apart import observe_apart
from helpers.checks.encoding import decode, encode
from helpers.checks.judging import judge, judge_all
from helpers.checks.spec import Case, Exercise, Observation
from helpers.grade.hidden import HIDDEN_SEEDS
from tests.checks.right import right_answers
from tests.checks.table import Table, as_far_as_right, stub, tells, verdict

__all__ = ["as_far_as_right"]
EXERCISES = everything()
# Hidden cases of which each takes TensorFlow seconds for its graphs.
DEAR = ("04.1", "04.2")
SHAPES = (None, 0, 1.5, "text", [], [None], {}, (1, 2), [[0]], object(), float("nan"))


def named(exercise: Exercise) -> str:
    """A test's name, such as "02.1"."""
    return exercise.number


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_each_answer_is_told_what_is_its_own(exercise: Exercise) -> None:
    table = Table(exercise)
    # One hidden seed each, and each seed in turn.
    seed = HIDDEN_SEEDS[EXERCISES.index(exercise) % len(HIDDEN_SEEDS)]
    faults = [
        *incomplete(exercise),
        *wrong_of_right(table, (0,) if exercise.number in DEAR else (0, seed)),
        *wrong_of_wrong(table),
        *wrong_of_any(table),
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.thorough
@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_each_answer_is_what_it_is_in_all_hidden_cases(exercise: Exercise) -> None:
    table = Table(exercise)
    faults = [*wrong_of_right(table, (*HIDDEN_SEEDS, 11, 12))]
    for place, answer in enumerate(exercise.wrong):
        seed = HIDDEN_SEEDS[place % len(HIDDEN_SEEDS)]
        if table.passes(answer.function, seed):
            faults.append(f"{answer.name}: passes the hidden cases of {seed}")
        # Whoever does the same is not it: here it is observed apart from what it is compared with.
        found = verdict(exercise, answer.function)
        if not tells(exercise, answer, found):
            faults.append(f"{answer.name}, observed twice: {found}")
    assert not faults, "\n".join(faults)


def incomplete(exercise: Exercise) -> Iterator[str]:
    """What a spec lacks."""
    names = [m.name for m in exercise.mistakes] + [w.name for w in exercise.wrong if w.says]
    first, again = ([case.name for case in exercise.cases(0)] for _ in range(2))
    worlds = {case.ranks for case in exercise.cases(0)}
    about = [inspect.getmodule(f) for f in (exercise.cases, exercise.claim)]
    holds = {
        "three wrong answers": len(exercise.wrong) >= 3,
        "names of which each is one mistake's": len(set(names)) == len(names),
        "of each wrong answer what it says, or a hint": all(
            bool(answer.says) != bool(answer.hint) for answer in exercise.wrong
        ),
        "stars, points and minutes": 1 <= exercise.size.stars <= 3
        and exercise.points >= 1
        and exercise.size.minutes >= 5,
        "a place in its lesson": exercise in of_lesson(exercise.lesson),
        "its number in its module": all(
            exercise.number in inspect.getsource(module or inspect) for module in about
        ),
        "the same cases each time": first == again,
        "cases of plain values, as a release holds them": all(
            repr(decode(encode(held))) == repr(held)
            for case in exercise.cases(0)
            for held in [(case.args, dict(case.options), dict(case.facts))]
        ),
        "hidden cases of a grader's own seed": bool(exercise.cases(2**62 + 11)),
        "1, 2, 3 and 5 ranks": max(worlds) == 1 or worlds >= {1, 2, 3, 5},
        "another right answer": bool(right_answers(exercise.number)),
    }
    yield from (f"The spec lacks {what}." for what, there in holds.items() if not there)


def wrong_of_right(table: Table, seeds: tuple[int, ...]) -> Iterator[str]:
    """Right answers that do not pass."""
    exercise = table.exercise
    for answer in (exercise.reference, *right_answers(exercise.number)):
        for seed in seeds:
            found = table.verdict(answer, seed)
            if found.status != "passed":
                yield f"{answer.__name__}, seed {seed}: {found}"
            elif answer is exercise.reference and not found.hint.startswith("Passed"):
                yield f"the reference, seed {seed}, is told {found.hint!r}"


def wrong_of_wrong(table: Table) -> Iterator[str]:
    """Wrong answers that are told something else than what is their own; families without any."""
    exercise, met = table.exercise, set()
    for answer in exercise.wrong:
        found = table.verdict(answer.function)
        met.add(found.mistake)
        if not tells(exercise, answer, found):
            yield f"{answer.name}: {found}"
        # One whose patch names what is not there would be its own oracle all the same.
        if any(table.see(answer.function, case).kind == "NameError" for case in table.cases(0)[:1]):
            yield f"{answer.name}: it names what is not there"
    yield from (
        f"{family.name}: a family without a known answer"
        for family in exercise.mistakes
        if family.name not in met
    )


def wrong_of_any(table: Table) -> Iterator[str]:
    """Whatever else is given, in the function or by somebody who forges an observation."""
    exercise, cases = table.exercise, table.cases(0)
    found = table.verdict(stub(exercise))
    if (found.status, found.hint) != (
        "not attempted",
        f"Exercise {exercise.number} is not done yet.",
    ):
        yield f"the stub: {found}"
    for value in SHAPES:
        found = table.verdict(lambda *args, value=value: value)
        if found.status != "wrong" or not found.hint:
            yield f"an answer that gives {value!r}: {found}"
    for seen in forged(cases[0]):
        found = judge(exercise, cases[0], seen, table.run)
        if found.status != "wrong":
            yield f"the forged {seen}: {found}"
    if judge_all(exercise, cases, []).status != "wrong":
        yield "no answer at all is not wrong"


def forged(case: Case) -> list[Observation]:
    """Observations that no answer makes."""
    return [
        Observation(),
        Observation(values=[None] * case.ranks),
        Observation(values=["?"] * 99, bytes=[0], messages=[0]),
        Observation(trouble="failed", kind="ValueError", text=""),
        Observation(trouble="deadlock", waiting={0: "waits"}),
        Observation(trouble="died", text="gone"),
    ]


def test_what_the_driver_gets_holds_no_facts() -> None:
    seen: list[Case] = []

    def drive(fn: Callable[..., Any], case: Case) -> Observation:
        seen.append(case)
        return Observation(trouble="not done")

    exercise = find("02.1")
    assert all(case.facts for case in exercise.cases(0))
    observe_apart(replace(exercise, drive=drive), exercise.reference, exercise.cases(0))
    assert seen and not any(case.facts for case in seen)
