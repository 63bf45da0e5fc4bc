"""Ends that a rank's function has not meant: forked children, closed outputs, late uses."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
import torch

from helpers.engine.errors import Deadlock, RankFailed, RunError, RunTimeout
from helpers.engine.processes import environment
from helpers.engine.run import run


@pytest.mark.real
@pytest.mark.parametrize("leaves", ["returns", "raises"])
def test_a_forked_child_does_not_answer_for_its_rank(leaves: str) -> None:
    def fn(comm: Any) -> int:
        if comm.rank == 1 and os.fork() == 0:
            if leaves == "raises":
                raise ValueError("in the child")
            return -1
        if comm.rank == 1:
            _, status = os.wait()
            return os.waitstatus_to_exitcode(status)
        return 0

    code = {"returns": 0, "raises": 1}[leaves]
    assert list(run(fn, ranks=2, show=False)) == [0, code]


@pytest.mark.parametrize("closed", [True, False])
def test_a_rank_may_close_its_output(engine: str, closed: bool) -> None:
    def fn(comm: Any) -> int:
        before = sys.stdout
        try:
            if closed:
                with open(os.devnull, "w") as sys.stdout:
                    print("noise")
            else:
                sys.stdout = None  # type: ignore[assignment]
            return int(comm.rank)
        finally:
            if engine == "virtual":  # it shares the notebook's
                sys.stdout = before

    assert list(run(fn, ranks=1, engine=engine)) == [0]


def test_a_comm_of_a_run_that_is_over_says_so() -> None:
    comm = run(lambda comm: comm, ranks=2, engine="virtual")[0]
    for _ in range(9):
        with pytest.raises(RuntimeError, match="belongs to a run that is over"):
            comm.barrier()


@pytest.mark.real
def test_what_lies_behind_an_exception_is_told_with_its_lines() -> None:
    def deep() -> None:
        raise KeyError("deep down")

    def fn(comm: Any) -> None:
        if comm.rank:
            return
        try:
            deep()
        except KeyError as cause:
            held = [ValueError("of the group"), OSError("as well")]
            raise ExceptionGroup("several", held) from cause

    with pytest.raises(RankFailed) as caught:
        run(fn, ranks=2)
    told = caught.value.report
    assert "It came of: KeyError: 'deep down'\nraised here (most recent call last):" in told
    assert 'raise KeyError("deep down")' in told
    assert "The group holds: ValueError: of the group" in told
    assert "The group holds: OSError: as well" in told


@pytest.mark.real
def test_two_threads_cannot_use_a_comm_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    def fn(comm: Any) -> None:
        if comm.rank:
            comm.recv(0)
            return
        before = comm.recorder._steps[0]
        # It waits for what rank 1 never sends.
        threading.Thread(target=comm.recv, args=(1,), daemon=True).start()
        while comm.recorder._steps[0] == before:
            time.sleep(0.001)
        try:
            comm.barrier()
        except RuntimeError as error:
            print(error)
        comm.send(np.zeros(1), 0)

    with pytest.raises(RankFailed, match="sends to rank 0"):
        run(fn, ranks=2, timeout=30)
    assert "Rank 0's comm is used by two threads at once" in capsys.readouterr().out


def test_what_the_notebook_has_deleted_is_told_to_the_ranks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COURSE_TEST", "set")
    monkeypatch.setenv("WORLD_SIZE", "7")
    assert environment(["COURSE_TEST"])["COURSE_TEST"] == "set"
    monkeypatch.delenv("COURSE_TEST")
    told = environment(["COURSE_TEST"])
    assert told["COURSE_TEST"] is None and "WORLD_SIZE" not in told


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"transport": "sockets", "framework": "horovod"}, "torch's gloo"),
        ({"transport": "sockets", "framework": "tensorflow"}, "torch's gloo"),
        ({"device": "gpu"}, 'device is "cpu"'),
        ({"threads": 0}, "threads is a whole number"),
        ({"ranks": 0}, "1 to 64"),
        ({"ranks": 2.5}, "whole number"),
        ({"engine": "cloud"}, "processes, virtual, hosts and cluster"),
        ({"framework": "jax"}, "torch, tensorflow, horovod"),
        ({"timeout": 0}, "seconds above 0"),
        ({"timeout": "3"}, "timeout is a number of seconds"),
        ({"timeout": True}, "timeout is a number of seconds"),
        ({"latency": 1e-3}, "no option 'latency'"),
        ({"transport": "pigeon"}, "sockets"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        run(lambda comm: 0, **{"ranks": 1, **options})
    with pytest.raises(TypeError, match="needs a function"):
        run(42)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "error",
    [
        RankFailed("report", 1, "ValueError", "text"),
        Deadlock("report", {0: "to receive from rank 1"}),
        RunTimeout("report", (2, 0)),
    ],
)
def test_an_error_of_a_run_can_be_pickled_and_copied(error: RunError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert (str(again), vars(again)) == (str(error), vars(error))


def test_a_rank_may_be_named_by_a_tensor(engine: str) -> None:
    def fn(comm: Any) -> list[float]:
        other = torch.tensor(1 - comm.rank)
        sent = comm.isend(torch.full((2,), float(comm.rank)), other)
        got = comm.recv(other)
        sent.wait()
        return list(got.tolist())

    options = [{}] if engine == "virtual" else [{}, {"transport": "sockets"}]
    for option in options:
        assert list(run(fn, ranks=2, engine=engine, **option)) == [[1.0, 1.0], [0.0, 0.0]]
