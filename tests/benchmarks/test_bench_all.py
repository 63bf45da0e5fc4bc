"""`./course bench all`: what fails or hangs ends alone, what is kept is not measured again.

A benchmark is a program; those that neither hang nor are ended run in this process.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks import every, kept, report
from benchmarks.every import Wish
from benchmarks.report import Report
from benchmarks.run import Benchmark

# What stands for a benchmark: a program that is given the file to write into.
FOUND = """
import sys
open(sys.argv[1], "w").write({text!r})
"""
FAILS = "print('minutes of work'); raise OSError('no room')"
HANGS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
time.sleep(600)
"""
LIMITS = {"good": 5.0, "bad": 5.0, "stuck": 0.02, "none": 5.0}
NAMES = {name: Benchmark("fakes", minutes) for name, minutes in LIMITS.items()}


def found(name: str, *notes: str, value: float | None = 2.0) -> str:
    """A program that found one time and one claim; with no value, notes alone."""
    made = Report(name, "A title", notes=list(notes), measured=kept.now(), took_s=3.0)
    if value is not None:
        made.add("a case", "ours", [value])
        made.claim("a claim", value, 1.0)
    return FOUND.format(text=made.json())


@pytest.fixture
def started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> list[str]:
    """The benchmarks that were started, in their order. Figures are kept in a folder of the test's.

    "bad" fails, "stuck" hangs with a child, "none" has not what it needs.
    """
    names: list[str] = []
    programs: dict[str, Callable[[], str]] = {
        "good": lambda: found("good"),
        "bad": lambda: FAILS,
        "stuck": lambda: HANGS,
        "none": lambda: found("none", "This machine has no links.", value=None),
    }

    def command(name: str, into: Path) -> list[str]:
        names.append(name)
        return [sys.executable, "-c", programs[name](), str(into)]

    if request.node.get_closest_marker("real") is None:
        monkeypatch.setattr(every.subprocess, "Popen", InThisProcess)
    monkeypatch.setattr(every, "command", command)
    monkeypatch.setattr(every, "others", lambda: 0.0)
    monkeypatch.setattr(every, "GRACE", 2)
    monkeypatch.setattr(kept, "own", lambda: tmp_path / "own")
    monkeypatch.setattr(kept, "REPOSITORY", tmp_path / "repository")
    monkeypatch.setattr(report, "gpus", list)
    return names


class InThisProcess:
    """A program that has ended, and what it had to say is in its log."""

    pid = 0

    def __init__(self, command: Sequence[str], stdout: Any, **how: Any) -> None:
        _, _, program, into = command
        self.returncode = 0
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(program.replace("sys.argv[1]", repr(into)), {})
        except Exception as error:
            stdout.write(f"{type(error).__name__}: {error}\n".encode())
            self.returncode = 1

    def wait(self, limit: float | None = None) -> int:
        return self.returncode

    poll = wait


def only(*names: str) -> dict[str, Benchmark]:
    return {name: NAMES[name] for name in names}


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*/*.json"))


@pytest.mark.real
def test_one_that_fails_or_hangs_does_not_end_the_others(
    started: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class OnceItHangs(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            logs = list((tmp_path / "own").glob("*/logs/stuck.log"))
            while logs and self.poll() is None and not logs[0].read_bytes().endswith(b"\n"):
                time.sleep(0.01)  # its time begins when it has said its child's number
            return super().wait(timeout)

    monkeypatch.setattr(every.subprocess, "Popen", OnceItHangs)
    assert every.main(Wish(), only("bad", "stuck", "none", "good")) == 1
    assert started == ["bad", "stuck", "none", "good"]
    said = " ".join(capsys.readouterr().err.split())
    assert "bad: failed. After" in said and "OSError: no room See " in said
    assert "stuck: failed. It had not ended after 0.02 min." in said
    assert "none: left out. This machine has no links." in said
    assert "good: measured. In" in said and "1 of 1 targets are met." in said
    assert files(tmp_path / "own") == ["good.json"]
    (log,) = (tmp_path / "own").glob("*/logs/stuck.log")
    child = int(log.read_text(encoding="utf-8").split()[1])
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie"


def test_what_is_kept_is_not_measured_again_and_again_measures_all(started: list[str]) -> None:
    two = {name: NAMES["good"] for name in ("good", "none")}
    assert every.main(Wish(), two) == 0
    assert every.main(Wish(), two) == 0
    assert started == ["good", "none", "none"]  # what found nothing is asked once more
    assert every.main(Wish(again=True), two) == 0
    assert started[3:] == ["good", "none"]


@pytest.mark.thorough
@pytest.mark.real
def test_an_interrupt_ends_what_is_running_also_where_another_one_follows(
    started: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            if running:
                return super().wait(timeout)
            while not (family := psutil.Process(self.pid).children()):
                time.sleep(0.05)
            running.extend([psutil.Process(self.pid), *family])
            try:
                os.kill(os.getpid(), signal.SIGINT)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)  # by somebody who cannot wait
            return 0

    running: list[psutil.Process] = []
    monkeypatch.setattr(every.subprocess, "Popen", Interrupted)
    assert every.main(Wish(), only("stuck", "good")) == 130
    psutil.wait_procs(running, timeout=300)
    assert not any(one.is_running() and one.status() != "zombie" for one in running)
    assert started == ["stuck"] and files(tmp_path / "own") == []


def test_the_table_alone_measures_nothing_and_json_is_alone_on_its_stream(
    started: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert every.main(Wish(only_table=True, as_json=True), only("good")) == 0
    told = json.loads(capsys.readouterr().out)
    assert not started and {goal["met"] for goal in told["goals"]} == {None}
    assert every.main(Wish(as_json=True), only("good", "bad")) == 1
    assert json.loads(capsys.readouterr().out)["machine"] == told["machine"]
