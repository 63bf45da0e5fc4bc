"""A command with a guard: all that came of it dies with it, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

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


def soon(happens: Callable[[], object]) -> bool:
    until = time.monotonic() + 100
    while not happens() and time.monotonic() < until:
        time.sleep(0.02)
    return bool(happens())


def guarded(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "helpers.engine.guard", str(folder), "tied", *command]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("how", ["told", "tie", "command"])
def test_all_that_came_of_a_command_ends_with_it(how: str, tmp_path: Path) -> None:
    folder, numbers = tmp_path / "folder", tmp_path / "numbers"
    folder.mkdir()
    guard = guarded(folder, sys.executable, "-c", FAMILY, str(numbers), "2", FAMILY)
    assert soon(lambda: numbers.exists() and len(numbers.read_text().split()) == 3)
    members = [psutil.Process(int(number)) for number in numbers.read_text().split()]
    if how == "told":
        guard.terminate()
    elif how == "tie":
        assert guard.stdin is not None
        guard.stdin.close()
    else:
        members[0].send_signal(signal.SIGKILL)
    code = guard.wait(100)
    assert not any(member.is_running() for member in members)
    assert code == (128 + signal.SIGKILL if how == "command" else 0)
    assert folder.exists() == (how != "tie")
    if guard.stdin is not None:
        guard.stdin.close()


@pytest.mark.parametrize(("command", "code"), [("exit 3", 3), ("kill -9 $$", 137)])
def test_it_ends_as_its_command_does(command: str, code: int, tmp_path: Path) -> None:
    with guarded(tmp_path, "sh", "-c", command) as guard:
        assert guard.wait(100) == code


def test_a_command_that_there_is_not_is_told(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "helpers.engine.guard", str(tmp_path), "no-such-command"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ})
    assert done.returncode == 127 and "no-such-command: " in done.stderr
