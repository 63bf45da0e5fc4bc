"""Ends that a rank's function has not meant: forked children, closed outputs, late uses."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import pytest

from helpers.engines import wire
from helpers.engines.run import run


@pytest.mark.parametrize("leaves", ["returns", "exits", "raises"])
def test_a_forked_child_does_not_answer_for_its_rank(leaves: str) -> None:
    def fn(comm: Any) -> int:
        if comm.rank == 1 and os.fork() == 0:
            if leaves == "exits":
                sys.exit(3)
            if leaves == "raises":
                raise ValueError("in the child")
            return -1
        if comm.rank == 1:
            _, status = os.wait()
            return os.waitstatus_to_exitcode(status)
        return 0

    code = {"returns": 0, "exits": 3, "raises": 1}[leaves]
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


@pytest.mark.parametrize("timeout", [None, "3", True, [1]])
def test_a_time_out_is_a_number(engine: str, timeout: Any) -> None:
    with pytest.raises(TypeError, match="timeout is a number of seconds, not"):
        run(lambda comm: 0, ranks=1, engine=engine, timeout=timeout)
    assert list(run(lambda comm: 0, ranks=1, engine=engine, timeout=np.float32(9))) == [0]


def test_what_is_interrupted_while_it_is_packed_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupted:
        def __init__(self, *_: object, **__: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(wire, "zip", Interrupted, raising=False)
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    with pytest.raises(KeyboardInterrupt):
        wire.pack_value(np.ones(1_000_000))
    assert len(os.listdir("/proc/self/fd") if before else []) == len(before)
