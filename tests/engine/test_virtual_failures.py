"""How runs on the virtual clock end badly: who is named, what is shown, and that all ends."""

from __future__ import annotations

import threading

import pytest
import torch
from on_virtual import nothing_is_left, run

from helpers.engine.errors import RankFailed

__all__ = ["nothing_is_left"]

ONES = torch.ones(10)


# --- an exception in a rank -----------------------------------------------------------------------


def test_an_exception_is_told_with_its_rank_and_lines():
    def inner(value):
        raise ValueError(f"{value} is wrong")

    def fn(comm):
        if comm.rank == 2:
            comm.compute(1e-3)
            inner(3)
        comm.recv(2)

    with pytest.raises(RankFailed) as caught:
        run(fn, ranks=4)
    error = caught.value
    assert (error.rank, error.ranks, error.kind, error.message) == (
        2, (2,), "ValueError", "3 is wrong"
    )  # fmt: skip
    lines = error.report.splitlines()
    assert lines[0] == "Rank 2 of 4 raised ValueError: 3 is wrong"
    # The traceback has the rank's own lines and none of the engine's.
    assert 'raise ValueError(f"{value} is wrong")' in error.report
    assert "inner(3)" in error.report
    assert "helpers/engine" not in error.report
    assert lines[-1] == "That was at 1 ms; ranks 0, 1 and 3 wait to receive from rank 2."
    assert isinstance(error.__cause__, ValueError)
    assert error._render_traceback_() == [f"RankFailed: {error.report}"]


def test_the_first_failure_in_virtual_time_is_told():
    def fn(comm):
        comm.compute(3.0 - comm.rank)
        raise RuntimeError(f"of rank {comm.rank}")

    with pytest.raises(RankFailed, match="of rank 2"):
        run(fn, ranks=3)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, BaseException])
def test_whatever_a_rank_raises_is_its_failure(kind):
    def fn(comm):
        raise kind("so")

    with pytest.raises(RankFailed) as caught:
        run(fn)
    assert (caught.value.kind, caught.value.message) == (kind.__name__, "so")


def test_an_exception_in_background_work_ends_the_run():
    def work(comm):
        comm.compute(1.0)
        raise ValueError("behind")

    def fn(comm):
        if comm.rank == 1:
            comm.background(work)
        comm.recv(1 - comm.rank)

    with pytest.raises(RankFailed, match=r"raised ValueError: behind \(in its background work\)"):
        run(fn)


def test_output_is_shown_when_a_run_fails(capsys):
    def fn(comm):
        print("before")
        comm.barrier()
        raise ValueError

    with pytest.raises(RankFailed, match="Rank 0 of 2 raised ValueError\n"):
        run(fn)
    assert capsys.readouterr().out == "rank 0 | before\nrank 1 | before\n"


# --- misuse ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda comm: comm.send(ONES, comm.rank), "which is itself"),
        (lambda comm: comm.send(ONES, -1), "the ranks are 0 to 1"),
        (lambda comm: comm.recv(2), "receives from rank 2, but the ranks are 0 to 1"),
        (lambda comm: comm.recv(1.0), "not the number of a rank"),
        (lambda comm: comm.send(3.0, 1 - comm.rank), "Only dense tensors and arrays of numbers"),
        (lambda comm: comm.background(lambda its: comm.time()).wait(), "comm that it is given"),
        (lambda comm: comm.shared((2 + comm.rank,)), r"Rank 0 shares \(2,\) float32 and rank 1"),
    ],
)
def test_misuse_is_told_in_a_sentence(wrong, text):
    with pytest.raises(RankFailed, match=text):
        run(wrong)


def test_threads_of_its_own_a_rank_cannot_have():
    def fn(comm):
        told = []

        def other():
            try:
                comm.time()
            except RuntimeError as error:
                told.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return told

    assert "cannot have" in run(fn, ranks=1)[0][0]
