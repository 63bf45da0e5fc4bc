"""`helpers.check`: what it says, and that it always comes back.

What only a process of its own can show is real; else answers are observed here.
"""

from __future__ import annotations

import gc
import io
import os
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from typing import Any

import numpy as np
import pytest

import helpers
from helpers.checks import NoSuchExercise, apart, find
from helpers.checks import check as check_module
from helpers.grade.hidden import require
from tests.checks.table import stub


def scatter_without_end(comm: Any, batch: Any, rows: int, width: int) -> Any:
    rounds = 0
    while True:
        rounds += 1


def scatter_that_swallows(comm: Any, batch: Any, rows: int, width: int) -> Any:
    while True:
        with suppress(BaseException):
            comm.barrier()


def scatter_that_deadlocks(comm: Any, batch: Any, rows: int, width: int) -> Any:
    return comm.recv((comm.rank + 1) % comm.size)


def scatter_that_raises(comm: Any, batch: Any, rows: int, width: int) -> Any:
    raise ValueError("<script>alert(1)</script>")


def scatter_with_two_arguments(comm: Any, batch: Any) -> Any:
    return batch


def scatter_that_exits(comm: Any, batch: Any, rows: int, width: int) -> Any:
    os._exit(3)


def that_holds_a_lock() -> Callable[..., Any]:
    lock = threading.Lock()

    def scatter(comm: Any, batch: Any, rows: int, width: int) -> Any:
        with lock:
            return batch

    return scatter


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


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (scatter_that_deadlocks, ["rank 0 waits to receive from rank 1"]),
        (scatter_that_raises, ["rank 0 raised ValueError at line", "`raise ValueError("]),
        (scatter_with_two_arguments, ["called with 4 arguments, but yours takes (comm, batch)"]),
        pytest.param(scatter_that_exits, ["exit code 3"], marks=pytest.mark.real),
        pytest.param(that_holds_a_lock(), ["scatter", "lock"], marks=pytest.mark.real),
    ],
)
def test_what_went_wrong_is_told(answer: Callable[..., Any], words: list[str]) -> None:
    result = helpers.check("02.1", answer)
    assert result.status == "wrong" and result.figure() is None
    assert all(word in result.hint for word in words), result.hint
    assert "<script>" not in result._repr_html_()


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


def test_require_raises_for_all_but_a_right_answer() -> None:
    exercise = find("00.1")
    require("00.1", exercise.reference)
    with pytest.raises(AssertionError, match="not done yet"):
        require("00.1", stub(exercise))
    with pytest.raises(AssertionError, match="not a function"):
        require("00.1", None)  # type: ignore[arg-type]


FIT = find("02.4")
SHOWN = [np.asarray(case.args[0][1], dtype=float) for case in FIT.cases(0)]


def right_where_shown(sizes: Any, seconds: Any) -> Any:
    """Right on the cases that the lesson shows; a known wrong answer on all others."""
    there = np.asarray(seconds, dtype=float)
    shown = any(one.shape == there.shape and np.array_equal(one, there) for one in SHOWN)
    return (FIT.reference if shown else FIT.wrong[0].function)(sizes, seconds)


def test_nbgrader_shows_the_hint_of_a_shown_case_and_the_name_of_a_hidden_ones_mistake() -> None:
    with pytest.raises(AssertionError) as told:
        require("02.4", FIT.wrong[0].function)
    assert "hidden" not in str(told.value) and str(told.value)
    assert helpers.check("02.4", right_where_shown).passed
    with pytest.raises(AssertionError) as told:
        require("02.4", right_where_shown)
    said = "Right on the cases that the lesson shows, wrong on a hidden one"
    assert str(told.value) == f"{said}: {FIT.wrong[0].name}."


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
