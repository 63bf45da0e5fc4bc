"""Runs on the virtual clock that are cut off: everything of them ends, and nothing is changed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from on_virtual import nothing_is_left, run

from helpers.engine.errors import Deadlock, RunInterrupted, RunTimeout

__all__ = ["nothing_is_left"]


def spin(comm):
    """Rank 1 never ends."""
    if comm.rank == 1:
        while True:
            pass
    comm.recv(1)


def test_a_rank_that_never_answers_is_named_with_its_line():
    with pytest.raises(RunTimeout) as caught:
        run(spin, timeout=0.5)
    assert caught.value.ranks == (1, 0)
    report = caught.value.report
    assert "After 0.5 s the run was ended: rank 0 waits to receive from rank 1; rank 1 is" in report
    assert "  rank 1: tests/engine/test_virtual_endings.py, line " in report


def interrupt():
    """Interrupt the main thread, as a notebook's stop button does."""
    os.kill(os.getpid(), signal.SIGINT)


def interrupted_spin(comm):
    """Rank 1 never ends, and the learner loses patience."""
    if comm.rank == 1:
        interrupt()
    spin(comm)


def interrupted_sleep(comm):
    """A rank that is not in Python code when the learner loses patience."""
    interrupt()
    time.sleep(0.5)


@pytest.mark.parametrize("fn", [interrupted_spin, interrupted_sleep])
def test_an_interrupted_cell(fn):
    with pytest.raises(RunInterrupted) as caught:
        run(fn)
    assert "The run was interrupted: " in caught.value.report
    assert "tests/engine/test_virtual_endings.py, line " in caught.value.report


def test_an_interrupt_reaches_a_run_inside_a_rank():
    with pytest.raises(RunInterrupted):
        run(lambda comm: run(interrupted_spin, ranks=2), ranks=1)


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
        run(fn, timeout=0.5 if kind is RunTimeout else 20)


def test_what_a_rank_does_when_it_is_ended_still_happens(capsys):
    def fn(comm):
        try:
            comm.recv(1 - comm.rank)
        finally:
            print("closed")

    with pytest.raises(Deadlock):
        run(fn)
    assert capsys.readouterr().out == "rank 0 | closed\nrank 1 | closed\n"


# --- a notebook can be traced and profiled after any run, as %prun does ---------------------------

ROOT = Path(__file__).parents[2]
PROGRAM = """
import cProfile
import time

import helpers
from helpers.engine.errors import RunError
from tests.engine.test_virtual_endings import spin, stubborn_waiter


def works(comm):
    comm.barrier()


def is_elsewhere(comm):
    time.sleep(5)


def own(numbers):
    return sum(numbers)


for fn in (works, spin, stubborn_waiter, is_elsewhere):
    try:
        helpers.run(fn, ranks=2, engine="virtual", timeout=0.5)
    except RunError as error:
        print(type(error).__name__)
    profile = cProfile.Profile()
    print(profile.runcall(own, [1, 2, 3]), len(profile.getstats()) > 0, flush=True)
"""


@pytest.mark.real
@pytest.mark.thorough
def test_a_notebook_can_be_profiled_after_a_run():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
    # In a process of its own: one that hangs so cannot even be interrupted.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    lines = ["6 True", "RunTimeout", "6 True", "Deadlock", "6 True", "RunTimeout", "6 True"]
    assert done.stdout.splitlines() == lines, done.stdout
