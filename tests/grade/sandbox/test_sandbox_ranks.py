"""Real ranks inside one sandbox."""

from __future__ import annotations

import os
from typing import Any

import in_sandbox
import pytest
from in_sandbox import says

from helpers.engine import wire
from helpers.grade.sandbox import Sandbox

RUN = """
    from helpers.checks.drives.ranks import on_ranks
    from helpers.grade.worker.real_ranks import run_on_real_ranks
    import torch

{function}

    args = [(torch.full((3,), float(rank)).numpy(),) for rank in range({ranks})]
    seen = run_on_real_ranks(on_ranks, fn, args, {timeout})
    return [seen.trouble, seen.kind, seen.text, seen.values]
"""


@pytest.fixture
def sandbox() -> Sandbox:
    """The shared sandbox, which each test leaves as it was."""
    return in_sandbox.shared()


def on_ranks(sandbox: Sandbox, *lines: str, ranks: int = 3, timeout: float = 60.0) -> list[Any]:
    """What a run of `fn(comm, tensor)` with these lines gives."""
    function = "\n".join(["    def fn(comm, tensor):", *(f"        {line}" for line in lines)])
    body = RUN.format(function=function, ranks=ranks, timeout=timeout)
    told: list[Any] = says(sandbox, body)
    assert sandbox.why == "", told
    return told


@pytest.mark.real
@pytest.mark.slow
def test_ranks_send_to_each_other(sandbox: Sandbox) -> None:
    ring = (
        "request = comm.isend(tensor, (comm.rank + 1) % comm.size)",
        "got = comm.recv((comm.rank - 1) % comm.size)",
        "request.wait()",
        "return float(got[0])",
    )
    assert on_ranks(sandbox, *ring, ranks=5) == ["", "", "", [4.0, 0.0, 1.0, 2.0, 3.0]]


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.thorough
def test_what_goes_wrong_is_an_observation(sandbox: Sandbox) -> None:
    told = on_ranks(sandbox, "if comm.rank == 1: raise KeyError('lost')", "comm.barrier()")
    assert told[:2] == ["failed", "KeyError"]
    told = on_ranks(sandbox, "raise NotImplementedError('Exercise 1 is not done yet')")
    assert told[0] == "not done"
    told = on_ranks(sandbox, "import os", "if comm.rank == 2: os._exit(3)", "comm.barrier()")
    assert told[0] == "died"
    told = on_ranks(sandbox, "comm.recv((comm.rank + 1) % comm.size)")
    assert told[0] == "deadlock"
    told = on_ranks(sandbox, "while True: pass", ranks=2, timeout=2.0)
    assert told[0] == "timeout"


def test_a_file_in_memory_where_the_kernel_refuses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: Any) -> int:
        raise PermissionError

    monkeypatch.setattr(wire.os, "memfd_create", refused, raising=False)
    fd = wire.anonymous_file(100)
    assert os.fstat(fd).st_size == 100
    assert os.fstat(fd).st_nlink == 0
    os.close(fd)
