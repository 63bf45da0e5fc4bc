"""Beginnings and ends beside the failures of ranks, and calls apart; nothing is left."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from descriptors import open_descriptors

from helpers.engine.comm import Comm
from helpers.engine.errors import RankDied, RunError, RunInterrupted, RunTimeout
from helpers.engine.launch import Client, client_for
from helpers.engine.own_time import Late
from helpers.engine.processes import call_apart
from tests.engine.test_process_failures import everything_below, remember_others, run

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def others() -> None:
    remember_others()


def test_an_interrupt_before_the_ranks_start_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    run(lambda comm: comm.rank)
    client_for("torch").destroy()
    before = open_descriptors()
    run(lambda comm: comm.rank)
    monkeypatch.setattr(Client, "start", interrupted)
    with pytest.raises(RunInterrupted, match="before its ranks started"):
        run(lambda comm: comm.rank)
    assert open_descriptors() == before
    monkeypatch.undo()
    monkeypatch.setattr(Client, "_expect", interrupted)
    with pytest.raises(RunInterrupted, match="before its ranks started"):
        run(lambda comm: comm.rank)
    assert open_descriptors() == before
    monkeypatch.undo()
    assert list(run(lambda comm: comm.rank)) == [0, 1]


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="another process's limits: Linux alone")
def test_ranks_that_cannot_be_forked_are_told() -> None:
    import resource

    run(lambda comm: comm.rank)
    server = client_for("torch").process.pid
    resource.prlimit(server, resource.RLIMIT_NOFILE, (60, 20_000))
    before = open_descriptors()
    with pytest.raises(RunError, match="8 ranks cannot be started here"):
        run(lambda comm: comm.rank, ranks=8)
    assert everything_below() == []
    assert open_descriptors() <= before
    assert list(run(lambda comm: comm.rank)) == [0, 1]
    assert client_for("torch").process.pid != server


def test_a_rank_that_prints_without_end_is_stopped_in_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def prints(comm: Comm) -> None:
        while True:
            print("again and again")

    with pytest.raises(RunTimeout):
        run(prints, timeout=1, show=True)
    assert "again and again" in capsys.readouterr().out


def test_values_that_came_back_hold_no_descriptor() -> None:
    run(lambda comm: comm.rank)
    before = open_descriptors()
    kept = run(lambda comm: torch.full((100_000,), float(comm.rank)))
    assert open_descriptors() == before
    kept[1] += 1
    assert kept[1].eq(2).all() and kept[0].eq(0).all()


# --- a call in a process of its own ---------------------------------------------------------------


def test_what_it_returns_comes_back_and_large_tensors_too() -> None:
    pid, threads, large = call_apart(
        lambda: (os.getpid(), torch.get_num_threads(), torch.arange(100_000.0)), "torch", 60.0
    )
    assert pid != os.getpid() and threads == 1
    assert torch.equal(large, torch.arange(100_000.0))
    assert everything_below() == []


def forks_and_ends() -> None:
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(3)


def kills_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("fn", "said"),
    [
        (lambda: os._exit(3), "exit code 3 and gave no answer"),
        (forks_and_ends, "exit code 3 and gave no answer"),
        (kills_itself, r"was killed by signal 9 \(SIGKILL\)"),
    ],
)
def test_an_end_is_told_and_leaves_nothing(fn: Callable[[], Any], said: str) -> None:
    with pytest.raises(RankDied, match=said):
        call_apart(fn, "torch", 60.0)
    assert everything_below() == []
    assert call_apart(lambda: 1, "torch", 60.0) == 1


@pytest.mark.parametrize(
    ("fn", "did"), [(lambda: time.sleep(1000), "slept"), (lambda: sum(iter(int, 1)), "computed")]
)
def test_what_takes_too_long_is_ended(fn: Callable[[], Any], did: str) -> None:
    with pytest.raises(Late) as late:
        call_apart(fn, "torch", 0.5)
    assert late.value.how.startswith(did)
    assert everything_below() == []
