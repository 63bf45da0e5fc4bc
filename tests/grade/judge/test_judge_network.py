"""The network that the judge plays: the same as the virtual clock of a learner's own check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from submissions import as_cell, write

from helpers.checks import everything
from helpers.checks.observe import observe as observe_here
from helpers.checks.spec import Case, Exercise, Observation
from helpers.grade.judge import Judge
from helpers.grade.judge.budgets import BUDGETS
from helpers.grade.judge.calls import observe
from helpers.grade.judge.notebook import code_cells
from helpers.grade.judge.session import Session
from helpers.grade.sandbox import missing

MISSING = missing()
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=MISSING or ""),
]

RANKED = [e for e in everything() if e.ranked]
EVERYDAY = "02.3"  # sends both ways at once, on 1 to 5 ranks of its own; the others with --all
SMALL = 5  # ranks, so that each has a sandbox of its own


@pytest.fixture(scope="module")
def judge_of() -> Iterator[Callable[[str], Judge]]:
    """Sandboxes that hold what a lesson's answers may use; those of the lesson before it end."""
    made: dict[str, Judge] = {}

    def of(lesson: str) -> Judge:
        for other in made.keys() - {lesson}:
            made.pop(other).close()
        return made.setdefault(lesson, Judge(lesson, slot=44))

    yield of
    for judge in made.values():
        judge.close()


@pytest.fixture
def session(
    judge_of: Callable[[str], Judge], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Exercise, Session]]:
    """A session with an exercise's reference, or another answer of it."""
    exercise, function = request.param
    pytest.importorskip(exercise.framework)  # here, where the learner's own check runs
    path = write(tmp_path / "it.ipynb", [as_cell(exercise, function)])
    sandboxes = judge_of(exercise.lesson).sandboxes
    made = Session(sandboxes, code_cells(path), [exercise.function], BUDGETS)
    yield exercise, made
    made.close()


def cases(exercise: Exercise) -> list[Case]:
    return [c for seed in (0, 2**62 + 11) for c in exercise.cases(seed) if c.ranks <= SMALL]


def answer(exercise: Exercise, function: Any, name: str, everyday: bool) -> Any:
    """A parameter: an exercise and an answer to it."""
    marks = [] if everyday else [pytest.mark.thorough]
    return pytest.param((exercise, function), id=f"{exercise.number}-{name}", marks=marks)


REFERENCES = [answer(e, e.reference, "", e.number == EVERYDAY) for e in RANKED]


@pytest.mark.parametrize("session", REFERENCES, indirect=True)
def test_values_bytes_order_and_trace_are_those_of_the_virtual_clock(
    session: tuple[Exercise, Session],
) -> None:
    exercise, made = session
    for case in cases(exercise):
        there = observe(exercise, case, made)
        (here,) = observe_here(exercise.drive, exercise.reference, [case])
        assert there.trouble == here.trouble == ""
        assert exact(there.values, here.values)
        assert counts(there) == counts(here)


# Many of the lessons about messages; of the others one each, since theirs are the same kind.
# Everyday the first of 02.3.
WRONG = [
    (e, w)
    for e in sorted(RANKED, key=lambda e: e.number != EVERYDAY)
    for w in e.wrong[:: 2 if e.lesson in ("02", "03") else 99]
]


@pytest.mark.parametrize(
    "session",
    [answer(e, w.function, w.name, w is WRONG[0][1]) for e, w in WRONG],
    indirect=True,
)
def test_a_wrong_answer_ends_as_it_does_on_the_virtual_clock(
    session: tuple[Exercise, Session], request: pytest.FixtureRequest
) -> None:
    exercise, made = session
    function = request.node.callspec.params["session"][1]
    for case in [c for c in exercise.cases(0) if c.ranks <= SMALL]:
        there = observe(exercise, case, made)
        (here,) = observe_here(exercise.drive, function, [case])
        assert (there.trouble, there.kind, there.rank) == (here.trouble, here.kind, here.rank)
        assert there.waiting == here.waiting
        if not here.trouble:
            assert exact(there.values, here.values)
            assert counts(there) == counts(here)


def exact(one: object, other: object) -> bool:
    """Equal to the last bit."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(exact(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and type(one) is type(other):
        assert isinstance(other, list | tuple)
        return len(one) == len(other) and all(map(exact, one, other))
    return repr_bits(one) == repr_bits(other)


def repr_bits(value: object) -> object:
    import numpy as np

    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return type(value), [repr_bits(v) for v in value]
    if isinstance(value, dict):
        return [(k, repr_bits(v)) for k, v in value.items()]
    return type(value), repr(value)


def counts(seen: Observation) -> tuple[object, ...]:
    return seen.bytes, seen.messages, seen.sent, seen.seconds, seen.events
