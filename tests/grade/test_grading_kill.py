"""A grader that is killed or interrupted: what is graded stays graded, and nothing survives it."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fake_grader import calls, hand_in, results, start

pytestmark = [pytest.mark.real, pytest.mark.slow]

STUDENTS = 60
JOBS = 2
KILLS = 8  # while it grades, and two more while it writes the reports; everyday one of each
Words = Sequence[str | Path]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def submissions(tmp_path: Path, count: int = STUDENTS) -> Path:
    for i in range(count):
        hand_in(tmp_path / "in", f"student{i:02d}", sleep=0.02)
    return tmp_path / "in"


def wait_for(what: Callable[[], bool], process: subprocess.Popen[str]) -> set[psutil.Process]:
    """Until something holds, or the process ends. Returns: its slots."""
    slots: set[psutil.Process] = set()
    while not what() and process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            slots |= set(psutil.Process(process.pid).children(recursive=True))
        time.sleep(0.005)
    return slots


def finish(process: subprocess.Popen[str], status: int) -> str:
    """What it says until it ends."""
    said, _ = process.communicate(timeout=300)
    assert process.returncode == status, said
    assert "Traceback" not in said
    return said


def dies(moment: str, *arguments: str | Path, environment: dict[str, str]) -> int:
    """A grader that kills itself at a moment, see `die_later`; its slots have to be gone soon.

    Returns: how many there were.
    """
    process = start(*arguments, environment={**environment, "FAKE_DEATH": moment})
    slots = wait_for(lambda: False, process)
    finish(process, -signal.SIGALRM)
    assert psutil.wait_procs(slots, timeout=300)[1] == []
    return len(slots)


@pytest.mark.parametrize("watch", [(), ("--watch", "--until-idle", "1")], ids=["grade", "watch"])
def test_ten_kills_leave_the_same_bytes(
    tmp_path: Path, request: pytest.FixtureRequest, watch: Words
) -> None:
    kills, later = (KILLS, 2) if request.config.getoption("--all") else (1, 1)
    log, out = tmp_path / "log", tmp_path / "out"
    common = (submissions(tmp_path), "--jobs", str(JOBS), "--out")
    finish(start(*common, tmp_path / "whole"), 0)

    environment, dice, slots = {"FAKE_JUDGE_LOG": str(log)}, random.Random(20), 0
    for i in range(kills + later):
        moment = f"results {dice.randint(1, 4)} {dice.uniform(0, 0.02)}"
        if i >= kills and not watch:
            moment = f"students {dice.randint(1, STUDENTS // 2)} 0"
        slots += dies(moment, *watch, *common, out, environment=environment)
    assert slots
    said = finish(start(*watch, *common, out, environment=environment), 0)

    assert f"{STUDENTS} submissions: " in said and (watch or ": 0 graded" in said)
    assert results(out) == results(tmp_path / "whole")
    assert not list(out.rglob(".*.tmp"))
    called = Counter(name for _, name in calls(log))
    assert len(called) == STUDENTS
    # Only what was in a slot when the grader was killed was begun again.
    assert called.total() <= STUDENTS + (kills + later) * JOBS


@pytest.mark.parametrize("watch", [(), pytest.param(("--watch",), marks=pytest.mark.thorough)])
def test_an_interrupt_ends_it_and_all_that_it_started(tmp_path: Path, watch: Words) -> None:
    folder, out = submissions(tmp_path, 3), tmp_path / "out"
    hand_in(folder, "the last", until=str(tmp_path / "never"))
    process = start(*watch, folder, "--jobs", "1", "--out", out)
    slots = wait_for(lambda: len(list(out.glob("results/*.json"))) >= 3, process)
    second = finish(start(*watch, folder, "--out", out), 2)
    assert "Another grader is at work in" in second
    process.send_signal(signal.SIGINT)
    said = finish(process, 130)
    assert "Interrupted. 3 of 4 submissions have their result." in said
    assert "Run the same command to go on." in said
    assert watch or not (out / "grades.csv").exists()
    assert psutil.wait_procs(slots, timeout=300)[1] == []
