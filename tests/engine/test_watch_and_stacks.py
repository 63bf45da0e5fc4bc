"""What a slow or busy machine does not fool: who stands still for good, and where ranks are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import helpers
from helpers.engine import report, waiting
from helpers.engine.board import Board
from helpers.engine.errors import Deadlock
from helpers.engine.own_time import OwnTime, Seen
from helpers.engine.wire import anonymous_file

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells who wants a processor")

# A rank that is asked where it is, and is held up in the middle of saying it.
SAYS_IT_IN_TWO = r"""
import os, signal, sys, time
def say(*_):
    os.write(1, b'Current thread 0x1 (most recent call first):\n  File "lesson.py", line 3 in fn\n')
    time.sleep(0.4)
    os.write(1, b'  File "rank.py", line 9 in answer\n  File "rank.py", line 8 in be_rank\n')
signal.signal(signal.SIGUSR1, say)
os.write(2, b"!")
while True:
    time.sleep(1)
"""


@pytest.fixture
def says_it_in_two(tmp_path: Path) -> Iterator[tuple[int, int]]:
    """The process and the file that it writes to."""
    with (
        (tmp_path / "stack").open("w+b") as stack,
        subprocess.Popen(
            [sys.executable, "-c", SAYS_IT_IN_TWO], stdout=stack, stderr=subprocess.PIPE
        ) as process,
    ):
        assert process.stderr is not None and process.stderr.read(1) == b"!"
        yield process.pid, stack.fileno()
        process.kill()


@pytest.mark.real
def test_a_stack_is_waited_for_until_it_is_whole(says_it_in_two: tuple[int, int]) -> None:
    found = report.where({"rank 1": says_it_in_two})
    assert [(f.filename, f.lineno, f.name) for f in found["rank 1"]] == [("lesson.py", 3, "fn")]
    assert len(report.where({"again": says_it_in_two})["again"]) == 1


@ON_LINUX
@pytest.mark.real
def test_ranks_that_are_stopped_for_a_while_are_in_no_deadlock() -> None:
    """Rank 1 is stopped, and stays so, when a message has woken it: longer than all may wait."""

    def fn(comm: Any) -> int:
        pids = comm.shared((2,), torch.int64)[0]
        pids[comm.rank] = os.getpid()
        comm.barrier()
        if comm.rank == 1:
            return int(comm.recv(0))
        other = int(pids[1])
        if os.fork() == 0:  # who lets it go on is no rank
            time.sleep(2.5 * waiting.STILL_SECONDS)
            os.kill(other, signal.SIGCONT)
            os._exit(0)
        os.kill(other, signal.SIGSTOP)
        comm.send(torch.tensor(7), 1)
        return 0

    assert list(helpers.run(fn, ranks=2, show=False)) == [0, 7]


class Still:
    """A run of two ranks that wait for each other, and a clock that is turned by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, wants: list[bool]) -> None:
        self.board, self.now = Board(self.file(), 2), 100.0
        for rank in range(2):
            self.board.write(rank, 0, "receiving", 1 - rank, 0, 7)
        run: Any = SimpleNamespace(
            board=self.board, pids=[os.getpid()] * 2, unfinished=lambda: [0, 1]
        )
        monkeypatch.setattr(waiting.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(OwnTime, "_look", lambda own: Seen(3.0, not self.asked(wants)))
        self.goes_on: Callable[[], None] = lambda: None
        self.watch = waiting.Watch(run, lambda: Deadlock("all wait", {}))

    def asked(self, wants: list[bool]) -> bool:
        """Whether a rank can go on; it may do so just before it is asked."""
        self.goes_on()
        return wants[0]

    @staticmethod
    def file() -> int:
        fd = anonymous_file()
        os.ftruncate(fd, Board.bytes(2))
        return fd

    def deadlock_after(self, *steps: float) -> bool:
        """Whether looks after so many seconds each find a deadlock."""
        try:
            for seconds in steps:
                self.now += seconds
                self.watch.look()
        except Deadlock:
            return True
        return False


def test_all_wait_and_nothing_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Still(monkeypatch, [False]).deadlock_after(*[0.2] * 8)
    # Who looks late begins anew: the machine may have stood still, and the ranks with it.
    assert not Still(monkeypatch, [False]).deadlock_after(*[1.5] * 20)


def test_a_message_on_a_link_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    still = Still(monkeypatch, [False])
    still.board.on_links[0, 0] += 1
    assert not still.deadlock_after(*[0.2] * 50)
    still.board.on_links[1, 1] += 1
    assert still.deadlock_after(*[0.2] * 8)


def test_a_rank_without_a_processor_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    wants = [True]
    still = Still(monkeypatch, wants)
    assert not still.deadlock_after(*[0.2] * 50)
    wants[0] = False
    assert still.deadlock_after(*[0.2] * 8)


def test_who_was_woken_and_ran_just_before_he_was_asked_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    still = Still(monkeypatch, [False])
    step = iter(range(8, 1000))
    still.goes_on = lambda: still.board.write(1, 0, "receiving", 0, 0, next(step))
    assert not still.deadlock_after(*[0.2] * 50)
    still.goes_on = lambda: None
    assert still.deadlock_after(*[0.2] * 8)


@pytest.mark.hosts
def test_what_takes_seconds_on_a_slow_link_is_no_deadlock() -> None:
    def slow(comm: Any, then: bool) -> None:
        if comm.rank == 0:
            comm.send(torch.zeros(75_000), 1)
        elif comm.rank == 1:
            comm.recv(0)
        if then:
            comm.recv(1 - comm.rank)

    def run(then: bool) -> Any:
        return helpers.run(slow, then, engine="hosts", hosts=2, bandwidth="1mbit", show=False)

    assert max(run(False).stats.seconds) > 1.5 * waiting.STILL_SECONDS
    with pytest.raises(Deadlock, match="rank 0 waits to receive from rank 1"):
        run(True)
