"""No grade depends on what else the machine does: busy, stopped for a while, or idle."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.engine.own_time import descendants
from helpers.grade.sandbox import missing
from tests.releases import ROOT

MISSING = missing()
pytestmark = [
    pytest.mark.real,
    pytest.mark.thorough,
    pytest.mark.skipif(bool(MISSING), reason=MISSING or ""),
    pytest.mark.timeout(3600),
]
LESSONS = ("02", "05", "08", "13", "14", "17")
LOOPS = 16


def grading(lesson: str, home: Path) -> subprocess.Popen[str]:
    """The command, on a class of two who have handed in the solution, both at a time."""
    (solution,) = (ROOT / "solutions").glob(f"{lesson}_*.ipynb")
    for name in ("ada", "bob"):
        (home / "in" / name).mkdir(parents=True)
        shutil.copy(solution, home / "in" / name)
    folders = [str(home / "in"), "--out", str(home / "out")]
    words = ["grade", *folders, "--lesson", lesson, "--jobs", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", "helpers.course.cli", *words],
        cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip


def all_points(command: subprocess.Popen[str], home: Path) -> bool:
    """Whether both have all points, in the end."""
    said, _ = command.communicate()
    assert command.returncode == 0, said
    rows = list(csv.DictReader((home / "out" / "grades.csv").open(encoding="utf-8")))
    return len(rows) == 2 and all(row["total"] == row["max"] for row in rows)


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_busy_machine_takes_no_points(lesson: str, tmp_path: Path) -> None:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOOPS)]
    try:
        assert all_points(grading(lesson, tmp_path), tmp_path)
    finally:
        for process in loops:
            process.kill()
            process.wait()


@pytest.mark.parametrize("but", [0, 1], ids=["all of it", "all but the command"])
def test_a_machine_that_stands_still_takes_no_points(but: int, tmp_path: Path) -> None:
    command = grading("13", tmp_path)
    while not any(map(has_a_submission, descendants(command.pid))):
        time.sleep(0.01)
    stopped = descendants(command.pid)[but:]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(60)  # longer than any limit of a call or of an exercise
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    assert all_points(command, tmp_path)


def has_a_submission(pid: int) -> bool:
    """Whether a process was forked by a sandbox's zygote for somebody's cells."""
    with contextlib.suppress(OSError):
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        words = [Path(f"/proc/{each}/cmdline").read_bytes() for each in (pid, parent)]
        return all(
            b"helpers.grade.worker.zygote" in each and b"bwrap" not in each for each in words
        )
    return False
