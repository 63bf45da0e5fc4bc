"""After any run on the virtual clock a notebook can be traced and profiled, as %prun does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
def test_a_notebook_can_be_profiled_after_a_run() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
    # In a process of its own: one that hangs so cannot even be interrupted.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    lines = ["6 True", "RunTimeout", "6 True", "Deadlock", "6 True", "RunTimeout", "6 True"]
    assert done.stdout.splitlines() == lines, done.stdout
