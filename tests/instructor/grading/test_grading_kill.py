"""A grader that is killed: what is graded stays graded, and nothing survives it."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from fake_grader import hand_in, results, start

STUDENTS = 60
JOBS = 2
KILLS = 8  # while it grades, and two more while it writes the reports; everyday 2, and one more


def wait_for(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until something holds, or the process ends."""
    while not what() and process.poll() is None:
        time.sleep(0.001)


def kill(process: subprocess.Popen[str]) -> None:
    """SIGKILL; its slots have to be gone soon after."""
    slots = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    assert process.wait() == -signal.SIGKILL, "it ended before it was killed"
    assert process.stdout is not None
    process.stdout.close()
    _, alive = psutil.wait_procs(slots, timeout=20)
    assert alive == []


def submissions(tmp_path: Path, sleep: float = 0.02) -> Path:
    folder = tmp_path / "submissions"
    for i in range(STUDENTS):
        hand_in(folder, f"student{i:02d}", sleep=sleep)
    return folder


def finish(*arguments: str | Path, environment: dict[str, str]) -> str:
    process = start(*arguments, environment=environment)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    return said


@pytest.mark.slow
def test_ten_kills_leave_the_same_bytes(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    kills, later = (KILLS, 2) if request.config.getoption("--all") else (2, 1)
    folder, log = submissions(tmp_path), tmp_path / "log"
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    common = (folder, "--jobs", str(JOBS), "--out")
    whole, out = tmp_path / "whole", tmp_path / "out"
    finish(*common, whole, environment=environment)

    environment["FAKE_JUDGE_LOG"] = str(log)
    dice = random.Random(20)
    for i in range(kills):
        moment = 7 * i + dice.randint(1, 5)
        process = start(*common, out, environment=environment)
        wait_for(lambda at=moment: len(list(out.glob("results/*.json"))) >= at, process)  # type: ignore[misc]
        time.sleep(dice.uniform(0, 0.02))
        kill(process)
    for _ in range(later):
        begun = time.time_ns()
        written = dice.randint(1, STUDENTS // 2)

        def so_many(since: int = begun, many: int = written) -> bool:
            pages = list(out.glob("students/*.html"))
            return len(pages) >= many and any(p.stat().st_mtime_ns > since for p in pages)

        process = start(*common, out, environment=environment)
        wait_for(so_many, process)
        kill(process)
    said = finish(*common, out, environment=environment)

    assert f"{STUDENTS} submissions: 0 graded" in said
    assert results(out) == results(whole)
    assert not list(out.rglob(".*.tmp"))
    calls = Counter(line.split()[1] for line in log.read_text().splitlines())
    assert len(calls) == STUDENTS
    # Only what was in a slot when the grader was killed was begun again.
    assert calls.total() <= STUDENTS + kills * JOBS


def test_an_interrupt_ends_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder, out = submissions(tmp_path, sleep=0.3), tmp_path / "out"  # far from its end
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    process = start(folder, "--jobs", "1", "--out", out, environment=environment)
    wait_for(lambda: len(list(out.glob("results/*.json"))) >= 3, process)
    slots = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert f"of {STUDENTS} submissions have their result" in said
    assert "Run the same command to go on." in said and "Traceback" not in said
    assert not (out / "grades.csv").exists()
    assert psutil.wait_procs(slots, timeout=20)[1] == []


def test_two_graders_do_not_share_a_folder(tmp_path: Path) -> None:
    folder, out = tmp_path / "submissions", tmp_path / "out"
    hand_in(folder, "slow", sleep=60)
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    first = start(folder, "--out", out, environment=environment)
    wait_for(lambda: (out / "run" / "slots.log").exists(), first)
    second = start(folder, "--out", out, environment=environment)
    said, _ = second.communicate(timeout=30)
    kill(first)
    assert second.returncode == 2
    assert "Another grader is at work" in said
