"""Every way in which a run of real ranks can end badly: told with its rank, nothing left."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from descriptors import open_descriptors

import helpers
from helpers.engine.comm import Comm
from helpers.engine.errors import (
    Deadlock,
    RankDied,
    RankFailed,
    RunError,
    RunInterrupted,
    RunTimeout,
)
from helpers.engine.own_time import OwnTime

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]


def run(fn: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return helpers.run(fn, *args, **{"ranks": 2, "timeout": 20.0, "show": False, **options})


_before: set[psutil.Process] = set()


def below() -> set[psutil.Process]:
    servers = psutil.Process().children()
    return {child for server in servers for child in server.children(recursive=True)}


@pytest.fixture(autouse=True)
def others() -> None:
    remember_others()


def remember_others() -> None:
    """What earlier modules keep, such as a sandbox that stands by, is not of this test."""
    _before.clear()
    _before.update(below())


def everything_below() -> list[psutil.Process]:
    """Processes below this one that the test made, the servers not counted."""
    return sorted(below() - _before, key=lambda process: process.pid)


def raises(comm: Comm) -> Any:
    if comm.rank == 1:
        return torch.ones(3) + torch.ones(4)  # the line at fault
    return comm.recv(1)


def is_killed(comm: Comm) -> None:
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.recv(1)


def forks_and_is_killed(comm: Comm) -> None:
    if comm.rank == 1:
        if os.fork() == 0:
            time.sleep(1000)  # with all of its rank's descriptors
        os.kill(os.getpid(), signal.SIGKILL)
    comm.barrier()


def is_killed_in_torchs_collective(comm: Comm) -> None:
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    torch.distributed.all_reduce(torch.ones(1))


def crashes(comm: Comm) -> None:
    import ctypes

    if comm.rank == 1:
        ctypes.string_at(0)  # the line at fault
    comm.barrier()


def never_answers(comm: Comm) -> None:
    while comm.rank == 1:
        time.sleep(0.01)  # the line at fault
    comm.barrier()


def all_send_first(comm: Comm) -> None:
    comm.send(torch.ones(3), 1 - comm.rank)  # the line at fault
    comm.recv(1 - comm.rank)


def skips_a_barrier(comm: Comm) -> None:
    if comm.rank != 1:
        comm.barrier()  # the line at fault


def skips_torchs_collective(comm: Comm) -> None:
    if comm.rank == 1:
        torch.distributed.all_reduce(torch.ones(3))  # the line at fault


def receives_into_another_shape(comm: Comm) -> None:
    if comm.rank == 0:
        comm.send(torch.ones(3), 1)
    else:
        comm.recv(0, into=torch.zeros(4))  # the line at fault


def leaves_a_grandchild(comm: Comm) -> None:
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if comm.rank == 1:
        raise ValueError("after a grandchild")
    comm.barrier()


def exits_python(comm: Comm) -> None:
    if comm.rank == 1:
        sys.exit("enough")
    comm.barrier()


Failure = tuple[Callable[..., Any], type[RunError], str]
FAILURES: list[Failure] = [
    (raises, RankFailed, "size of tensor"),
    (crashes, RankDied, "SIGSEGV"),
    (never_answers, RunTimeout, "Rank 1 is computing"),
    (skips_a_barrier, Deadlock, "rank 1 has returned"),
    (leaves_a_grandchild, RankFailed, "after a grandchild"),
    (forks_and_is_killed, RankDied, "SIGKILL"),
    (is_killed_in_torchs_collective, RankDied, "SIGKILL"),
]
MORE: list[Failure] = [
    (all_send_first, Deadlock, "sends before it receives"),
    (skips_torchs_collective, RunTimeout, "waits in torch.distributed.all_reduce"),
    (receives_into_another_shape, RankFailed, "rank 0 sent (3,) float32"),
    (exits_python, RankFailed, "SystemExit: enough"),
]


@pytest.mark.parametrize(
    ("fn", "error", "words"),
    [*FAILURES, *(pytest.param(*more, marks=pytest.mark.thorough) for more in MORE)],
)
def test_failures_name_the_rank_and_leave_nothing(
    fn: Callable[..., Any], error: type[RunError], words: str
) -> None:
    run(lambda comm: None)
    descriptors = open_descriptors()
    with pytest.raises(error) as caught:
        run(fn, timeout=3.0 if error is RunTimeout else 20.0)
    report = caught.value.report
    assert words in report and "helpers/engine" not in report
    assert 1 in caught.value.ranks or fn is skips_a_barrier
    assert error is not RankDied or caught.value.ranks == (1,)  # and not who noticed
    if "# the line at fault" in inspect.getsource(fn):
        assert "# the line at fault" in report, report
    assert everything_below() == []
    assert open_descriptors() == descriptors
    assert not any(t.name == "communication" for t in threading.enumerate())


def test_an_interrupt_ends_the_run_and_says_what_each_rank_did(tmp_path: Path) -> None:
    there = [tmp_path / f"rank {rank} is there" for rank in range(2)]

    def fn(comm: Comm) -> None:
        there[comm.rank].write_text(str(os.getpid()))
        never_answers(comm)

    def interrupt() -> None:
        while not all(each.exists() for each in there):
            time.sleep(0.01)
        ranks = OwnTime(lambda: [int(each.read_text() or 0) for each in there])
        while ranks.still < 5:  # both wait
            time.sleep(0.01)
            ranks.look()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(RunInterrupted) as caught:
        run(fn, timeout=60)
    assert "Rank 1 is computing" in caught.value.report
    assert "Rank 0 waits for rank 1 to come to the barrier" in caught.value.report
    assert everything_below() == []
    assert list(run(lambda comm: comm.rank)) == [0, 1]


def test_a_server_that_dies_is_told_and_replaced() -> None:
    def fn(comm: Comm) -> None:
        if comm.rank == 0:
            os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(30)

    with pytest.raises(RunError, match="server process"):
        run(fn)
    assert list(run(lambda comm: comm.rank)) == [0, 1]


def test_ranks_end_when_the_notebook_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time, helpers\n"
        "def fn(comm):\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(1000)\n"
        "helpers.run(fn, ranks=1)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline().split("|")[1])
        process.kill()
    while psutil.pid_exists(pid):
        time.sleep(0.05)


# --- reports that are hard to write ---------------------------------------------------------------


def waits_deep_down(comm: Comm, depth: int = 200) -> Any:
    if depth:
        return waits_deep_down(comm, depth - 1)
    return comm.recv(1 - comm.rank)  # the line at fault


def test_a_deadlocks_lines_are_shown() -> None:
    with pytest.raises(Deadlock) as caught:
        run(waits_deep_down)
    assert caught.value.report.count("# the line at fault") == 2, caught.value.report


class Stubborn(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(one + two)


def test_a_value_that_cannot_be_unpickled_names_its_rank() -> None:
    with pytest.raises(RunError, match="rank 1 returned") as caught:
        run(lambda comm: Stubborn(1, 2) if comm.rank else None)
    assert caught.value.ranks == (1,)
    assert everything_below() == []
    assert list(run(lambda comm: comm.rank)) == [0, 1]


def test_output_that_cannot_be_shown_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def write(self, text: str) -> int:
            raise BrokenPipeError("nobody reads")

        def flush(self) -> None:
            pass

    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(BrokenPipeError):
        run(lambda comm: print("something"), show=True)
    assert everything_below() == []
    monkeypatch.undo()
    assert list(run(lambda comm: comm.rank)) == [0, 1]


def test_a_time_out_without_end() -> None:
    assert list(run(lambda comm: comm.rank, timeout=float("inf"))) == [0, 1]
