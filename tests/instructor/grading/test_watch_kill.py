"""A watch that is killed or interrupted: nothing is lost, nothing graded twice, nothing left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from fake_grader import hand_in, start

pytestmark = [pytest.mark.real, pytest.mark.slow]
JOBS = 2


def wait_for(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not what() and process.poll() is None:
        time.sleep(0.005)


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "FAKE_JUDGE_LOG": str(tmp_path / "log"),
        "PYTHONUNBUFFERED": "1",
    }


def kept(out: Path) -> list[str]:
    """The names of submissions, once for each grading whose result was kept."""
    times = out / "run" / "timings.jsonl"
    lines = times.read_text().splitlines() if times.exists() else []
    return sorted(json.loads(line)["submission"] for line in lines)


def test_a_kill_loses_nothing_and_nothing_is_graded_twice(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    names = [f"s{i}" for i in range(9)]
    common = ("--watch", folder, "--out", out, "--jobs", str(JOBS))
    for name in names[:6]:
        hand_in(folder, name, sleep=0.3)
    process = start(*common, environment=environment(tmp_path))
    wait_for(lambda: bool(kept(out)), process)
    slots = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert process.stdout is not None
    process.stdout.close()
    assert psutil.wait_procs(slots, timeout=300)[1] == []
    for name in names[6:]:
        hand_in(folder, name)
    process = start(*common, "--until-idle", "1", environment=environment(tmp_path))
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0 and "9 submissions: " in said, said
    # A result is saved before its line is written: a kill in between costs the line alone.
    lines = kept(out)
    assert len(set(lines)) == len(lines) and set(lines) <= set(names)
    assert len(lines) >= len(names) - 1
    begun = (tmp_path / "log").read_text().splitlines()
    assert len(begun) <= len(names) + JOBS  # what was in a slot was begun again
    rows = (out / "grades.csv").read_text().splitlines()
    assert [row.partition(",")[0] for row in rows[1:]] == names
    assert not list(out.rglob(".*.tmp")) and not (out / "run" / "taken").exists()


@pytest.mark.thorough
def test_an_interrupt_ends_it_and_all_that_it_started(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    hand_in(folder, "ann")
    hand_in(folder, "slow", until=str(tmp_path / "never"))
    process = start("--watch", folder, "--out", out, environment=environment(tmp_path))
    wait_for(lambda: kept(out) == ["ann"] and (out / "grades.json").exists(), process)
    second = start("--watch", folder, "--out", out, environment=environment(tmp_path))
    refused, _ = second.communicate(timeout=300)
    assert second.returncode == 2 and "Another grader is at work in" in refused
    slots = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Interrupted. 1 of 2 submissions have their result" in said and "Traceback" not in said
    assert psutil.wait_procs(slots, timeout=300)[1] == []
    assert not (out / "run" / "taken").exists()
