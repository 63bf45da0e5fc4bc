"""Runs in a row from one kernel, a tenth of them failing on purpose: nothing may pile up."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

import helpers
from helpers.engine.comm import Comm
from helpers.engine.errors import RunError, RunInterrupted
from tests.engine.test_process_failures import (
    is_killed,
    never_answers,
    raises,
    receives_into_another_shape,
    skips_a_barrier,
)

pytestmark = pytest.mark.real

RUNS, EVERYDAY = 500, 30


def works(comm: Comm, value: int) -> int:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    request = comm.isend(torch.full((1000,), value + comm.rank), right)
    got = comm.recv(left)
    request.wait()
    comm.barrier()
    return int(got[0]) - value


def is_interrupted(comm: Comm, caller: int) -> None:
    if comm.rank == 1:
        os.kill(caller, signal.SIGINT)
    never_answers(comm)


FAILING = (
    raises, is_killed, never_answers, receives_into_another_shape, skips_a_barrier, is_interrupted,
)  # fmt: skip


def footprint() -> dict[str, Any]:
    """What must not grow."""
    me = psutil.Process()
    servers = me.children()
    return {
        "processes": len(me.children(recursive=True)),
        "descriptors": me.num_fds() + sum(server.num_fds() for server in servers),
        "threads": me.num_threads() + sum(server.num_threads() for server in servers),
        "python threads": threading.active_count(),
        "listening ports": sum(
            connection.status == psutil.CONN_LISTEN
            for process in (me, *servers)
            for connection in process.net_connections()
        ),
    }


def shared_memory() -> set[str]:
    """What torch has in the machine's shared memory: nothing else there can be of ranks."""
    return {path.name for path in Path("/dev/shm").glob("torch_*")}


def one_failing_run(fn: Any, engine: str) -> None:
    """Run it, and hold that the failure names rank 1."""
    timeout = 0.5 if fn is never_answers else 20.0
    more = (os.getpid(),) if fn is is_interrupted else ()
    try:
        helpers.run(fn, *more, ranks=2, engine=engine, timeout=timeout, show=False)
    except RunInterrupted as error:
        early = "before its ranks started" in error.report  # where this process was held up
        assert early or "rank 1" in error.report.lower()
        return
    except RunError as error:
        assert 1 in error.ranks or error.ranks == (0,), error.report
        assert "rank 1" in error.report.lower(), error.report
        return
    raise AssertionError(f"{fn.__name__} did not fail")


@pytest.mark.skipif(not hasattr(psutil.Process, "num_fds"), reason="needs Linux or macOS")
def test_many_runs_leave_no_more_than_ten(request: pytest.FixtureRequest) -> None:
    chosen = random.Random(0)
    bad = 0
    runs = RUNS if request.config.getoption("--all") else EVERYDAY
    for number in range(runs):
        engine = "virtual" if number % 7 == 3 else "processes"
        if number % 10 == 7:
            fn = FAILING[bad % len(FAILING)]
            if engine == "virtual" and fn is is_killed:
                fn = raises  # a rank of the virtual clock is no process of its own
            one_failing_run(fn, engine)
            bad += 1
        else:
            ranks = chosen.choice([1, 2, 3, 4])
            results = helpers.run(works, number, ranks=ranks, engine=engine, show=False)
            assert list(results) == [(rank - 1) % ranks for rank in range(ranks)]
        if number == 9:
            before, named = footprint(), shared_memory()
    after = footprint()
    assert bad == sum(number % 10 == 7 for number in range(runs))
    assert {k: v for k, v in after.items() if v > before[k]} == {}
    assert shared_memory() <= named
