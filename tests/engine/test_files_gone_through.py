"""How many files of the course a reader of one call has to open: counted with a tracer."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import helpers
from helpers.checks import find

pytestmark = pytest.mark.real
HERE = str(Path(helpers.__file__).parent)


def gone_through(call: Callable[[], Any]) -> set[str]:
    """The course's files whose code runs in this process during a call, in all its threads."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(HERE):
            found.add(frame.f_code.co_filename.removeprefix(HERE))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("engine", ["processes", "virtual"])
def test_a_run_goes_through_twelve_files_at_most(engine: str) -> None:
    def run() -> None:
        assert helpers.run(_rank, ranks=4, engine=engine) == [0, 1, 2, 3]

    run()  # what is loaded once
    assert len(gone_through(run)) <= 12, sorted(gone_through(run))


def test_a_check_goes_through_fifteen_files_at_most() -> None:
    def check() -> None:
        helpers.check("02.1", find("02.1").reference)

    check()
    assert len(gone_through(check)) <= 15, sorted(gone_through(check))


def _rank(comm: Any) -> int:
    return int(comm.rank)


def test_a_run_on_processes_loads_no_other_engine() -> None:
    code = (
        "import helpers, sys; helpers.run(id, ranks=1, show=False)\n"
        "print([m for m in sys.modules if m.startswith(tuple(sys.argv[1:]))])"
    )
    others = [f"helpers.engine.{name}" for name in ("hosts", "servers", "slurm", "virtual")]
    done = subprocess.run(
        [sys.executable, "-c", code, *others], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
