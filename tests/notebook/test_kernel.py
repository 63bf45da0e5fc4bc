"""Ranks from a real Jupyter kernel: cells' functions, tracebacks with their lines, interrupts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.real, pytest.mark.slow]


class Notebook:
    """A kernel, and what its cells print and raise."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager, self.client = manager, client

    def start(self, source: str) -> str:
        return self.client.execute(source)

    def finish(self, request: str, seconds: float = 300) -> tuple[str, str]:
        """What the cell wrote to stdout, and its error as the learner sees it."""
        text, error = "", ""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            message = self.client.get_iopub_msg(timeout=max(until - time.monotonic(), 0.1))
            content: dict[str, Any] = message["content"]
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] == "stream":
                assert content["name"] == "stdout", content["text"]
                text += content["text"]
            elif message["msg_type"] == "error":
                error = "\n".join(content["traceback"])
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return text, error
        raise TimeoutError("the cell did not end")

    def run(self, source: str) -> tuple[str, str]:
        return self.finish(self.start(source))

    def wait_for(self, what: Callable[[], bool], seconds: float = 300) -> None:
        """Go on once something is so."""
        until = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < until, "it did not come to it"
            time.sleep(0.05)

    def processes(self) -> list[psutil.Process]:
        """Every process below the kernel."""
        return psutil.Process(self.manager.provisioner.pid).children(recursive=True)


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    manager, client = start_new_kernel(
        kernel_name="python3", env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=str(ROOT)
    )
    try:
        notebook = Notebook(manager, client)
        notebook.run("import os, time, torch, helpers")
        yield notebook
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_a_closure_from_a_cell_runs_on_real_ranks_after_the_kernel_has_computed(
    notebook: Notebook,
) -> None:
    # A fork of the kernel itself would deadlock here: its threads have worked.
    notebook.run("a = torch.rand(500, 500, requires_grad=True); (a @ a).sum().backward()")
    text, error = notebook.run(
        "scale = 10\n"
        "def fn(comm):\n"
        "    b = torch.rand(300, 300, requires_grad=True)\n"
        "    (b @ b).sum().backward()\n"
        "    print('hello from', comm.rank)\n"
        "    return comm.rank * scale\n"
        "print(list(helpers.run(fn, ranks=4)))"
    )
    assert not error
    hello = [f"rank {rank} | hello from {rank}" for rank in range(4)]
    assert text.splitlines() == [*hello, "[0, 10, 20, 30]"]


@pytest.mark.thorough
def test_a_ranks_traceback_shows_the_cells_own_lines(notebook: Notebook) -> None:
    for engine in ("processes", "virtual"):
        _, error = notebook.run(
            "def fn(comm):\n"
            "    if comm.rank == 2:\n"
            "        return 1 / 0  # my own line\n"
            f"helpers.run(fn, ranks=3, engine={engine!r})"
        )
        assert "Rank 2 of 3 raised ZeroDivisionError" in error
        assert "# my own line" in error
        assert "helpers/engine" not in error


def test_interrupting_a_cell_ends_its_ranks(notebook: Notebook, tmp_path: Path) -> None:
    there = tmp_path / "rank 1 is there"
    request = notebook.start(
        "def fn(comm):\n"
        "    while comm.rank == 1:\n"
        f"        open({str(there)!r}, 'w').close()  # it never ends\n"
        "    comm.barrier()\n"
        "helpers.run(fn, ranks=2, timeout=120)"
    )
    notebook.wait_for(there.exists)
    assert len(notebook.processes()) > 2
    notebook.manager.interrupt_kernel()
    _, error = notebook.finish(request)
    assert "interrupted" in error and "# it never ends" in error
    assert len(notebook.processes()) == 1  # the server, ready for the next run
    text, error = notebook.run("print(list(helpers.run(lambda comm: comm.rank, ranks=2)))")
    assert (text.strip(), error) == ("[0, 1]", "")


@pytest.mark.thorough
def test_restarting_the_kernel_leaves_nothing(notebook: Notebook) -> None:
    request = notebook.start("helpers.run(lambda comm: time.sleep(100), ranks=2)")
    notebook.wait_for(lambda: len(notebook.processes()) >= 3)
    before = notebook.processes()
    notebook.manager.restart_kernel(now=True)
    deadline = time.monotonic() + 300  # which only ends what hangs
    while any(process.is_running() for process in before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert request and not [p for p in before if p.is_running() and p.status() != "zombie"]
