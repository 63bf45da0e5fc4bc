"""Nodes that are killed: all that came of them dies, and nothing is left, whoever is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from helpers.lessons.cluster.experiments.elastic_nodes import Command, JobFailed, Nodes

pytestmark = pytest.mark.real

# A command with a child and a grandchild, in sessions of their own, that write their numbers down.
FAMILY = """
import os, subprocess, sys, time
with open(sys.argv[1], "a") as file:
    file.write(f"{os.getpid()}\\n")
depth = int(sys.argv[2])
if depth:
    arguments = [sys.executable, "-c", sys.argv[3], sys.argv[1], str(depth - 1), sys.argv[3]]
    subprocess.Popen(arguments, start_new_session=True)
time.sleep(600)
"""
CALLER = """
import sys, time
from pathlib import Path
from helpers.lessons.cluster.experiments.elastic_nodes import Command, Nodes
nodes = Nodes()
print(nodes.folder, flush=True)
nodes.start("a", Command(["python", "-c", sys.argv[2], sys.argv[1], "2", sys.argv[2]]))
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    me = psutil.Process()
    before, files = set(me.children(recursive=True)), me.num_fds()
    yield
    assert set(me.children(recursive=True)) <= before
    assert me.num_fds() <= files


def family(numbers: Path) -> Command:
    return Command(["python", "-c", FAMILY, str(numbers), "2", FAMILY])


def members(numbers: Path, count: int) -> list[int]:
    """The process ids that were written down, as soon as there are so many."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        if numbers.exists() and len(found := numbers.read_text().split()) == count:
            return [int(each) for each in found]
        time.sleep(0.02)
    raise AssertionError(f"There are no {count} processes.")


def alive(pids: list[int]) -> list[int]:
    """Those of some processes that still run."""
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
    return found


def gone(pids: list[int]) -> bool:
    """Whether all end within a while."""
    until = time.monotonic() + 300
    while alive(pids) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(pids)


def ended(nodes: Nodes, name: str) -> int:
    until = time.monotonic() + 300
    while (code := nodes.ended(name)) is None and time.monotonic() < until:
        time.sleep(0.02)
    assert code is not None
    return code


def test_a_node_dies_with_all_that_came_of_it_and_the_other_lives(tmp_path: Path) -> None:
    with Nodes() as nodes:
        for name in ("a", "b"):
            nodes.start(name, family(tmp_path / name))
        first, second = (members(tmp_path / name, 3) for name in ("a", "b"))
        nodes.kill("a")
        assert gone(first) and ended(nodes, "a") == -signal.SIGKILL
        assert alive(second) == second and nodes.ended("b") is None
        nodes.kill("a")  # it has no number any more
        nodes.start("a", family(tmp_path / "a again"))
        again = members(tmp_path / "a again", 3)
        assert nodes.ended("a") is None
        folder = nodes.folder
    assert not alive(second + again) and not folder.exists()


@pytest.mark.thorough
def test_what_outlives_its_parent_is_ended_too(tmp_path: Path) -> None:
    with Nodes() as nodes:
        nodes.start("a", family(tmp_path / "a"))
        root, child, grandchild = members(tmp_path / "a", 3)
        os.kill(root, signal.SIGKILL)
        assert ended(nodes, "a") == -signal.SIGKILL and alive([child, grandchild])
    assert not alive([child, grandchild])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has child subreapers")
def test_a_caller_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers"
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER, str(numbers), FAMILY],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert caller.stdout is not None
    with caller, caller.stdout:
        folder = Path(caller.stdout.readline().strip())
        found = members(numbers, 3)
        assert folder.exists() and alive(found) == found
        caller.kill()
    assert gone(found)
    until = time.monotonic() + 300
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not folder.exists()


def test_output_is_kept_over_all_lives_and_shown_where_a_job_fails() -> None:
    with Nodes() as nodes:
        for word in ("once", "twice"):
            nodes.start("a", Command(["sh", "-c", f"echo {word}; exit 3"]))
            assert ended(nodes, "a") == 3
        assert nodes.lines("a") == ["once", "twice"] and nodes.lines("b") == []
        assert str(nodes.failed("No.")) == "No.\n\na wrote last:\n  once\n  twice"
        with pytest.raises(JobFailed, match="a ended with exit code 3 after the last step"):
            nodes.finish(["a"], 5)
        nodes.start("b", Command(["sleep", "600"]))
        with pytest.raises(JobFailed, match=r"b had not ended 0\.1 s after the last step"):
            nodes.finish(["b"], 0.1)


def test_settings_come_before_the_command_and_other_jobs_stay_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = Command(["sh", "-c", 'echo "$MARK/$RANK/$OMP_NUM_THREADS"'], {"MARK": "a b"})
    assert str(command) == "MARK='a b' sh -c 'echo \"$MARK/$RANK/$OMP_NUM_THREADS\"'"
    monkeypatch.setenv("RANK", "7")
    with Nodes() as nodes:
        nodes.start("a", command)
        assert ended(nodes, "a") == 0 and nodes.lines("a") == ["a b//1"]
