"""`helpers.check`: what it says, and that it always comes back.

What only a process of its own can show is real; else answers are observed here.
"""

from __future__ import annotations

import gc
import io
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from typing import Any

import pytest

import helpers
from helpers.checks import NoSuchExercise, apart, find
from helpers.checks import check as check_module
from helpers.checks.check import judged
from helpers.grade.hidden import HIDDEN_SEEDS, require
from tests.checks.table import stub


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


@pytest.fixture(scope="module", autouse=True)
def nothing_of_other_modules() -> None:
    """What they left to be collected would say so on stderr whenever that is."""
    gc.collect()


@pytest.fixture(autouse=True)
def nothing_on_stderr() -> Any:
    """A check writes nothing to stderr: nbgrader takes that for a failure."""
    text = io.StringIO()
    with redirect_stderr(text):
        yield
    assert text.getvalue() == ""


@pytest.mark.real
def test_a_check_passes_and_shows_itself() -> None:
    exercise = find("02.1")
    result = helpers.check("02.1", exercise.reference)
    assert result.passed and bool(result) and result.status == "passed"
    assert "Passed on 1, 2, 3 and 5 ranks" in repr(result)
    assert "✓" in repr(result) and "Scatter" in repr(result)
    assert "<script" not in result._repr_html_()
    assert result.figure() is not None


def test_a_deadlock_is_told_with_its_ranks() -> None:
    result = helpers.check("02.1", scatter_that_deadlocks)
    assert result.status == "wrong"
    assert "rank 0 waits to receive from rank 1" in result.hint
    assert result.figure() is None


@pytest.mark.real
@pytest.mark.parametrize("answer", [scatter_without_end, scatter_that_swallows])
def test_an_endless_loop_is_cut_off_at_its_line(
    answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "TIMEOUT", 3.0)  # all that it does is to compute
    result = helpers.check("02.1", answer)
    assert result.status == "wrong"
    assert "did not come to an end at line" in result.hint
    assert find("02.1").asks in repr(result)


@pytest.mark.real
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


@pytest.mark.real
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
        require("00.1", next(a for a in exercise.wrong if "left out" in a.name).function)
    with pytest.raises(AssertionError, match="not a function"):
        require("00.1", None)  # type: ignore[arg-type]


def test_an_answer_that_knows_the_visible_cases_fails_the_hidden_ones() -> None:
    def roll_call(comm: Any) -> Any:
        known = {n: [rank * rank for rank in range(n)] for n in (1, 2, 3, 4, 5, 17)}
        import torch

        if comm.rank:
            comm.send(torch.tensor(comm.rank**2), 0)
            return None
        for other in range(1, comm.size):
            comm.recv(other)
        return known.get(comm.size)

    assert judged(find("00.1"), roll_call, (0,)).passed
    assert not judged(find("00.1"), roll_call, HIDDEN_SEEDS).passed


def test_mine_or_yours(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(check_module, "_checked", None)  # it is known by its code
    assert helpers.mine_or_yours("00.1", roll_call) is roll_call
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
