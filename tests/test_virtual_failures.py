"""How runs on the virtual clock end badly: who is named, what is shown, and that all ends."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
import torch
from on_virtual import nothing_is_left, run

from helpers.engines.errors import Deadlock, RankFailed, RunInterrupted, RunTimeout

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
    assert "helpers/engines" not in error.report
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


def test_chained_exceptions_are_shown_without_the_engine():
    def fn(comm):
        try:
            comm.send(ONES, 7)
        except ValueError as error:
            raise KeyError("outer") from error

    with pytest.raises(RankFailed) as caught:
        run(fn)
    assert "sends to rank 7, but the ranks are 0 to 1" in caught.value.report
    assert "direct cause" in caught.value.report
    assert "comm.py" not in caught.value.report


def test_an_exercise_that_is_not_done():
    def fn(comm):
        raise NotImplementedError("Exercise 02.1 is not done yet")

    with pytest.raises(RankFailed) as caught:
        run(fn)
    assert caught.value.kind == "NotImplementedError"
    assert caught.value.message == "Exercise 02.1 is not done yet"


def test_an_exception_in_background_work_ends_the_run():
    def work(comm):
        comm.compute(1.0)
        raise ValueError("behind")

    def fn(comm):
        if comm.rank == 1:
            comm.background(work)
        comm.recv(1 - comm.rank)

    with pytest.raises(RankFailed, match="raised ValueError in its background work: behind"):
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
        (lambda comm: comm.send(3.0, 1 - comm.rank), "Only tensors and arrays"),
        (lambda comm: comm.shared((2 + comm.rank,)), r"Rank 0 shares \(2,\) float32 and rank 1"),
    ],
)
def test_misuse_is_told_in_a_sentence(wrong, text):
    with pytest.raises(RankFailed, match=text):
        run(wrong)


@pytest.mark.parametrize("into", [torch.zeros(9), torch.zeros(10, dtype=torch.float64)])
def test_receiving_into_what_does_not_fit(into):
    def fn(comm):
        if comm.rank == 0:
            comm.send(ONES, 1)
        else:
            comm.recv(0, into=into)

    with pytest.raises(RankFailed, match=r"rank 0 sent \(10,\) float32, but it is to be") as caught:
        run(fn)
    assert caught.value.rank == 1


def test_background_work_uses_the_comm_that_it_is_given():
    def fn(comm):
        comm.background(lambda other: comm.time()).wait()

    with pytest.raises(RankFailed, match="uses the comm that it is given"):
        run(fn, ranks=1)


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


# --- deadlocks ------------------------------------------------------------------------------------


def deadlock(fn, ranks):
    """The deadlock that a function ends in."""
    with pytest.raises(Deadlock) as caught:
        run(fn, ranks=ranks)
    assert caught.value.ranks == tuple(caught.value.waiting)
    return caught.value


def test_everybody_sends_first():
    def fn(comm):
        comm.compute(350e-6)
        if comm.rank < 2:
            comm.send(ONES, 1 - comm.rank)
            comm.recv(1 - comm.rank)

    error = deadlock(fn, 3)
    first, place, reason = error.report.splitlines()
    assert first == (
        "Deadlock at 0.35 ms: rank 0 waits to send 40 B to rank 1; "
        "rank 1 waits to send 40 B to rank 0; rank 2 has returned."
    )
    assert place.startswith("  ranks 0 and 1: tests/test_virtual_failures.py, line ")
    assert place.endswith("in fn: comm.send(ONES, 1 - comm.rank)")
    assert "Each of ranks 0 and 1 sends before it receives" in reason
    assert error.waiting == {
        0: "waits to send 40 B to rank 1", 1: "waits to send 40 B to rank 0"
    }  # fmt: skip


def test_a_skipped_barrier():
    def fn(comm):
        if comm.rank != 2:
            comm.barrier()

    report = deadlock(fn, 4).report
    assert "ranks 0, 1 and 3 wait for rank 2 to come to the barrier; rank 2 has returned" in report
    assert "Rank 2 has returned without coming to the barrier" in report


def test_a_message_that_nobody_receives():
    def fn(comm):
        if comm.rank == 1:
            comm.isend(ONES, 0)

    error = deadlock(fn, 2)
    assert error.waiting == {1: "waits to send 40 B to rank 0"}
    assert "a message for rank 0 that nobody receives" in error.report


def test_a_message_that_nobody_sends():
    error = deadlock(lambda comm: comm.recv(0) if comm.rank else None, 2)
    assert "Rank 0 has come to the end of its function without sending" in error.report


def test_different_collectives():
    def fn(comm):
        comm.barrier() if comm.rank else comm.shared((1,))

    assert "The ranks are in different collectives" in deadlock(fn, 3).report


def test_background_work_that_waits_for_ever():
    def work(comm):
        comm.recv(1 - comm.rank)

    def fn(comm):
        if comm.rank == 0:
            comm.background(work).wait()
        else:
            comm.send(ONES, 0)

    error = deadlock(fn, 2)
    assert error.waiting[0] == "waits for its background work, which waits to receive from rank 1"
    assert "background functions reach only background functions" in error.report


def test_a_deadlock_of_many_ranks_stays_readable():
    error = deadlock(lambda comm: comm.recv((comm.rank + 1) % comm.size), 64)
    assert len(error.waiting) == 64
    assert "and so on for 56 more" in error.report
    assert len(error.report) < 1500


# --- ranks that do not end ------------------------------------------------------------------------


def spin(comm):
    """Rank 1 never ends."""
    if comm.rank == 1:
        while True:
            pass
    comm.recv(1)


def test_a_rank_that_never_answers_is_named_with_its_line():
    with pytest.raises(RunTimeout) as caught:
        run(spin, timeout=0.3)
    assert caught.value.ranks == (1, 0)
    report = caught.value.report
    assert "After 0.3 s the run was ended: rank 0 waits to receive from rank 1; rank 1 is" in report
    assert "  rank 1: tests/test_virtual_failures.py, line " in report


def interrupt_soon():
    """Interrupt the main thread, as a notebook's stop button does."""
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.parametrize("fn", [spin, lambda comm: time.sleep(1.0)])
def test_an_interrupted_cell(fn):
    timer = interrupt_soon()
    with pytest.raises(RunInterrupted) as caught:
        run(fn)
    timer.join()
    assert "The run was interrupted: " in caught.value.report
    assert "tests/test_virtual_failures.py, line " in caught.value.report


def test_an_interrupt_reaches_a_run_inside_a_rank():
    timer = interrupt_soon()
    with pytest.raises(RunInterrupted):
        run(lambda comm: run(spin, ranks=2), ranks=1)
    timer.join()


def stubborn_waiter(comm):
    """Waits again whatever happens."""
    while True:
        try:
            comm.barrier()
            comm.recv((comm.rank + 1) % comm.size)
        except BaseException:
            pass


def stubborn_worker(comm):
    """Works on whatever happens."""
    while True:
        try:
            sum(range(1000))
        except BaseException:
            continue


def twice_stubborn(comm):
    """Catches in its handlers as well."""
    while True:
        try:
            try:
                comm.recv(1 - comm.rank)
            except BaseException:
                comm.recv(1 - comm.rank)
            finally:
                comm.barrier()
        except BaseException:
            pass


@pytest.mark.parametrize(
    ("fn", "kind"),
    [(stubborn_waiter, Deadlock), (stubborn_worker, RunTimeout), (twice_stubborn, Deadlock)],
)
def test_code_that_catches_everything_ends_as_well(fn, kind):
    with pytest.raises(kind):
        run(fn, timeout=0.5)


def test_what_a_rank_does_when_it_is_ended_still_happens(capsys):
    def fn(comm):
        try:
            comm.recv(1 - comm.rank)
        finally:
            print("closed")

    with pytest.raises(Deadlock):
        run(fn)
    assert capsys.readouterr().out == "rank 0 | closed\nrank 1 | closed\n"


def test_many_runs_leave_no_thread_of_any_kind():
    def fn(comm, bad):
        value = torch.randn(200, 200) @ torch.randn(200, 200)
        if bad and comm.rank == 1:
            raise ValueError
        comm.barrier()
        return value.sum()

    def native():
        return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0

    run(fn, False)
    before = native()
    for number in range(30):
        if number % 3 == 0:
            with pytest.raises(RankFailed):
                run(fn, True, ranks=4)
        else:
            run(fn, False, ranks=4)
    until = time.monotonic() + 10
    while native() > before and time.monotonic() < until:
        time.sleep(0.01)  # a thread that has ended takes a moment to be gone
    assert native() <= before
