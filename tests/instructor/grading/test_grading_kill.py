"""A grader that is killed: what is graded stays graded, and nothing survives it."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fake_grader import hand_in, results, start

pytestmark = pytest.mark.real

STUDENTS = 60
JOBS = 2
KILLS = 8  # while it grades, and two more while it writes the reports; everyday one of each


def wait_for(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until something holds, or the process ends."""
    while not what() and process.poll() is None:
        time.sleep(0.001)


def dies(moment: str, *arguments: str | Path, environment: dict[str, str]) -> int:
    """A grader that kills itself at a moment, see `die_later`; its slots have to be gone soon.

    Returns: how many there were.
    """
    process = start(*arguments, environment={**environment, "FAKE_DEATH": moment})
    slots: set[psutil.Process] = set()
    while process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            slots |= set(psutil.Process(process.pid).children(recursive=True))
        time.sleep(0.01)
    assert process.returncode == -signal.SIGALRM, "it ended before it was killed"
    assert process.stdout is not None
    process.stdout.close()
    assert psutil.wait_procs(slots, timeout=300)[1] == []
    return len(slots)


def submissions(tmp_path: Path) -> Path:
    folder = tmp_path / "submissions"
    for i in range(STUDENTS):
        hand_in(folder, f"student{i:02d}", sleep=0.02)
    return folder


def finish(*arguments: str | Path, environment: dict[str, str]) -> str:
    process = start(*arguments, environment=environment)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


@pytest.mark.slow
def test_ten_kills_leave_the_same_bytes(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kills, later = (KILLS, 2) if request.config.getoption("--all") else (1, 1)
    folder, log = submissions(tmp_path), tmp_path / "log"
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    common = (folder, "--jobs", str(JOBS), "--out")
    whole, out = tmp_path / "whole", tmp_path / "out"
    finish(*common, whole, environment=environment)

    environment["FAKE_JUDGE_LOG"] = str(log)
    dice, slots = random.Random(20), 0
    for _ in range(kills):
        moment = f"results {dice.randint(1, 4)} {dice.uniform(0, 0.02)}"
        slots += dies(moment, *common, out, environment=environment)
    assert slots
    for _ in range(later):
        moment = f"students {dice.randint(1, STUDENTS // 2)} 0"
        dies(moment, *common, out, environment=environment)
    said = finish(*common, out, environment=environment)

    assert f"{STUDENTS} submissions: 0 graded" in said
    assert results(out) == results(whole)
    assert not list(out.rglob(".*.tmp"))
    calls = Counter(line.split()[1] for line in log.read_text().splitlines())
    assert len(calls) == STUDENTS
    # Only what was in a slot when the grader was killed was begun again.
    assert calls.total() <= STUDENTS + kills * JOBS


def test_an_interrupt_ends_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder, out = submissions(tmp_path), tmp_path / "out"
    for i in range(3, STUDENTS):  # these have no end
        hand_in(folder, f"student{i:02d}", until=str(tmp_path / "never"))
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    process = start(folder, "--jobs", "1", "--out", out, environment=environment)
    wait_for(lambda: len(list(out.glob("results/*.json"))) >= 3, process)
    slots = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert f"of {STUDENTS} submissions have their result" in said
    assert "Run the same command to go on." in said and "Traceback" not in said
    assert not (out / "grades.csv").exists()
    assert psutil.wait_procs(slots, timeout=300)[1] == []


def test_two_graders_do_not_share_a_folder(tmp_path: Path) -> None:
    folder, out = tmp_path / "submissions", tmp_path / "out"
    hand_in(folder, "slow", until=str(tmp_path / "never"))
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    first = start(folder, "--out", out, environment=environment)
    wait_for(lambda: (out / "run" / "slots.log").exists(), first)
    second = start(folder, "--out", out, environment=environment)
    said, _ = second.communicate(timeout=300)
    first.kill()
    first.communicate(timeout=300)
    assert second.returncode == 2
    assert "Another grader is at work" in said
