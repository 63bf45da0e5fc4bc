"""Every exercise: the reference passes, the stub is open, each wrong answer gets its own hint."""

from __future__ import annotations

import inspect
import io
import time
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from typing import Any

import pytest

import helpers
from helpers.exercises import NoSuchExercise, everything, find, of_lesson
from helpers.exercises.check import HIDDEN_SEEDS, judged, require
from helpers.exercises.observe import observe
from helpers.exercises.spec import Case, Exercise, Observation, Verdict, WrongAnswer

EXERCISES = everything()
WRONG = [(exercise, answer) for exercise in EXERCISES for answer in exercise.wrong]


def named(value: Any) -> str:
    """A test's name, such as "02.1" or "cuts with rows // N"."""
    return str(getattr(value, "number", getattr(value, "name", value)))


def verdict(exercise: Exercise, function: Callable[..., Any], seed: int = 0) -> Verdict:
    """Judge a function in this process, as the check does in another."""
    cases = exercise.cases(seed)
    return exercise.judge_all(cases, observe(exercise.drive, function, cases))


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


@pytest.mark.parametrize(("exercise", "answer"), WRONG, ids=named)
def test_a_wrong_answer_gets_its_own_hint_and_no_other(
    exercise: Exercise, answer: WrongAnswer
) -> None:
    result = verdict(exercise, answer.function)
    assert result.status == "wrong"
    assert answer.hint in result.hint
    # The mistake was recognised: this is not what an unknown wrong answer is told.
    assert result.mistake in [m.name for m in exercise.mistakes]
    for other in exercise.wrong:
        if other is not answer:
            assert other.hint not in result.hint, f"this is the hint for: {other.name}"


@pytest.mark.parametrize(("exercise", "answer"), WRONG, ids=named)
def test_a_wrong_answer_fails_on_hidden_cases_alone(
    exercise: Exercise, answer: WrongAnswer
) -> None:
    for seed in HIDDEN_SEEDS:
        assert verdict(exercise, answer.function, seed).status == "wrong", seed


@pytest.mark.parametrize("exercise", EXERCISES, ids=named)
def test_a_spec_is_complete(exercise: Exercise) -> None:
    assert len(exercise.wrong) >= 3
    assert len({m.name for m in exercise.mistakes}) == len(exercise.mistakes)
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
        assert exercise.judge(case, seen).status == "wrong"
    assert exercise.judge_all(exercise.cases(0), []).status == "wrong"


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
    assert said_to("cuts with rows // N") == (
        "On 3 ranks with 5 rows, rank 2 got 1 row; it should get 2. Rows 3 and 4 reached nobody: "
        "`rows // N` loses the remainder."
    )
    assert said_to("sends the whole batch") == (
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


# --- helpers.check, in a process of its own -----------------------------------------------------


def scatter_that_deadlocks(comm: Any, batch: Any, rows: int, width: int) -> Any:
    return comm.recv((comm.rank + 1) % comm.size)


def scatter_without_end(comm: Any, batch: Any, rows: int, width: int) -> Any:
    rounds = 0
    while True:
        rounds += 1


def scatter_that_swallows(comm: Any, batch: Any, rows: int, width: int) -> Any:
    while True:
        with suppress(BaseException):
            comm.barrier()


def scatter_that_exits(comm: Any, batch: Any, rows: int, width: int) -> Any:
    import os

    os._exit(3)


def scatter_with_two_arguments(comm: Any, batch: Any) -> Any:
    return batch


def scatter_that_raises(comm: Any, batch: Any, rows: int, width: int) -> Any:
    return rows / 0


@pytest.fixture(autouse=True)
def nothing_on_stderr() -> Any:
    """A check writes nothing to stderr: nbgrader takes that for a failure."""
    text = io.StringIO()
    with redirect_stderr(text):
        yield
    assert text.getvalue() == ""


def test_a_check_passes_and_shows_itself() -> None:
    exercise = find("02.1")
    result = helpers.check("02.1", exercise.reference)
    assert result.passed and bool(result) and result.status == "passed"
    assert "Passed on 1, 2, 3 and 5 ranks" in repr(result)
    assert "✓" in repr(result) and "Scatter" in repr(result)
    assert "<script" not in result._repr_html_()
    assert result.figure() is not None


def test_a_deadlock_is_told_in_seconds_with_its_ranks() -> None:
    helpers.check("02.1", find("02.1").reference)  # the server is warm
    start = time.monotonic()
    result = helpers.check("02.1", scatter_that_deadlocks)
    assert time.monotonic() - start < 10
    assert result.status == "wrong"
    assert "rank 0 waits to receive from rank 1" in result.hint
    assert result.figure() is None


@pytest.mark.slow
@pytest.mark.parametrize("answer", [scatter_without_end, scatter_that_swallows])
def test_an_endless_loop_is_cut_off_at_its_line(answer: Callable[..., Any]) -> None:
    start = time.monotonic()
    result = helpers.check("02.1", answer)
    assert time.monotonic() - start < 20
    assert result.status == "wrong"
    assert "did not come to an end at line" in result.hint
    assert find("02.1").asks in repr(result)


def test_a_process_that_ends_is_told() -> None:
    result = helpers.check("02.1", scatter_that_exits)
    assert result.status == "wrong"
    assert "exit code 3" in result.hint


def test_an_exception_is_told_with_its_line() -> None:
    result = helpers.check("02.1", scatter_that_raises)
    assert "rank 0 raised ZeroDivisionError at line" in result.hint
    assert "`return rows / 0`" in result.hint


def test_a_wrong_signature_is_told() -> None:
    result = helpers.check("02.1", scatter_with_two_arguments)
    assert "called with 4 arguments, but yours takes (comm, batch)" in result.hint


def test_a_function_that_cannot_be_sent_is_told() -> None:
    import threading

    lock = threading.Lock()

    def scatter(comm: Any, batch: Any, rows: int, width: int) -> Any:
        with lock:
            return batch

    result = helpers.check("02.1", scatter)
    assert result.status == "wrong"
    assert "scatter" in result.hint and "lock" in result.hint


def test_misuse_is_answered_with_a_sentence() -> None:
    assert "02.1  Scatter" in helpers.check("99.9", print).hint
    assert helpers.check("99.9", print).status == "unknown"
    nothings: list[Any] = [None, 3, [1]]
    for nothing in nothings:
        result = helpers.check("02.1", nothing)
        assert result.status == "wrong"
        assert 'helpers.check("02.1", scatter)' in result.hint
    with pytest.raises(NoSuchExercise, match="There is no exercise"):
        find("nonsense")


def test_an_open_exercise_is_no_error() -> None:
    result = helpers.check("02.1", stub(find("02.1")))
    assert result.status == "not attempted"
    assert "Exercise 02.1 is not done yet." in repr(result)


def test_html_is_escaped() -> None:
    def scatter(comm: Any, batch: Any, rows: int, width: int) -> Any:
        raise ValueError("<script>alert(1)</script>")

    assert "<script>" not in helpers.check("02.1", scatter)._repr_html_()


def test_require_raises_for_all_but_a_right_answer() -> None:
    exercise = find("00.1")
    require("00.1", exercise.reference)
    with pytest.raises(AssertionError, match="not done yet"):
        require("00.1", stub(exercise))
    with pytest.raises(AssertionError, match="its own square is missing"):
        require("00.1", next(a for a in exercise.wrong if "rank 0 out" in a.name).function)
    with pytest.raises(AssertionError, match="not a function"):
        require("00.1", None)  # type: ignore[arg-type]


def test_an_answer_that_knows_the_visible_cases_fails_the_hidden_ones() -> None:
    def roll_call(comm: Any) -> Any:
        known = {4: [0, 1, 4, 9], 1: [0], 2: [0, 1], 3: [0, 1, 4], 5: [0, 1, 4, 9, 16]}
        import torch

        if comm.rank:
            comm.send(torch.tensor(0), 0)
            return None
        for other in range(1, comm.size):
            comm.recv(other)
        return known.get(comm.size)

    assert judged(find("00.1"), roll_call, (0,)).passed
    assert not judged(find("00.1"), roll_call, HIDDEN_SEEDS).passed


def test_mine_or_yours(capsys: pytest.CaptureFixture[str]) -> None:
    exercise = find("00.1")
    assert helpers.mine_or_yours("00.1", stub(exercise)) is exercise.reference
    said = capsys.readouterr().out
    assert "Exercise 00.1 is open: the course's own `roll_call` stands in" in said
    wrong = exercise.wrong[0].function
    assert helpers.mine_or_yours("00.1", wrong) is exercise.reference
    assert "is not right yet" in capsys.readouterr().out

    def roll_call(comm: Any) -> Any:
        return exercise.reference(comm)

    assert helpers.mine_or_yours("00.1", roll_call) is roll_call
    start = time.monotonic()
    assert helpers.mine_or_yours("00.1", roll_call) is roll_call  # known by its code
    assert time.monotonic() - start < 0.1
    assert capsys.readouterr().out == "This runs your `roll_call` (exercise 00.1).\n" * 2


def test_ranks_do_not_share_what_a_cell_holds() -> None:
    # In a notebook the function's globals are the cell's; every rank has its own, as in a process.
    held: dict[str, Any] = {"seen": []}
    source = (
        "def roll_call(comm):\n"
        "    import torch\n"
        "    seen.append(comm.rank ** 2)\n"
        "    return list(seen) if comm.rank == 0 else None\n"
    )
    exec(compile(source, "<cell>", "exec"), {"__name__": "__main__", **held}, held)
    result = helpers.check("00.1", held["roll_call"])
    assert "no rank sent anything" in result.hint
