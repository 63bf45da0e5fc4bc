"""`./course test`: how pytest is called on each kind of test, and what is said of it at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.course.setup.places import ROOT
from helpers.course.testing import run as testing
from helpers.course.testing.run import NOTHING, STOPPED, Choice, pytest_command

WHERE = ["tests"]


@pytest.mark.parametrize("kind", testing.KINDS)
def test_paths_given_to_test_replace_the_usual_ones(kind: str) -> None:
    command = pytest_command(kind, Choice(), ["tests/course/test_cli.py::test_x", "-q"], WHERE)
    assert command[-2:] == ["tests/course/test_cli.py::test_x", "-q"]
    assert "tests" not in command and "-n" not in command and f"--kind={kind}" in command


def test_what_has_no_clock_is_shared_by_as_many_processes_as_the_machine_has_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = pytest_command("clockless", Choice(), [], WHERE)
    assert int(command[command.index("-n") + 1]) == testing.workers() >= 1
    assert "-n" in pytest_command("clockless", Choice(), ["tests/engine"], WHERE)
    assert "-n" not in pytest_command("real", Choice(), [], WHERE)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=3e9))
    assert testing.workers() == 1


def test_fast_leaves_out_what_is_slow() -> None:
    command = pytest_command("clockless", Choice(fast=True), ["-k", "ring"], WHERE)
    assert command[command.index("-m", 3) + 1] == "not slow"
    assert "tests" in command and "solutions" not in command


@pytest.mark.real
def test_the_closing_line_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    line = "===== 3 passed in 0.12s ====="
    code, closing = testing.run_pytest([sys.executable, "-c", f"print('{line}'); exit(1)"])
    assert (code, closing) == (1, [line])
    assert capfd.readouterr().out == line + "\n"


@pytest.mark.real
def test_an_interrupt_ends_pytest_and_what_it_would_have_run_next(tmp_path: Path) -> None:
    there = tmp_path / "there"
    one = f"import time; open({str(there)!r}, 'w'); time.sleep(600)"
    code = (
        "import sys\nfrom helpers.course.testing import run as testing\n"
        f"testing.pytest_command = lambda *how: [sys.executable, '-c', {one!r}]\n"
        "print(testing.run_kinds(testing.Choice(), [], {}))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    while not there.exists():
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    said = process.communicate()[0].decode()
    assert "tests without a clock" in said and "real tests" not in said


@pytest.fixture
def codes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The exit statuses that pytest ends with, in turn; it is not run."""
    told: list[int] = []

    def run(command: list[str]) -> tuple[int, list[str]]:
        return told.pop(0), ["2.00s call x", f"1 {command[3]} in 1s"]

    monkeypatch.setattr(testing, "run_pytest", run)
    yield told
    assert not told


@pytest.mark.parametrize(
    ("ends", "arguments", "passed"),
    [
        ([0, 0], (), True),
        ([NOTHING, 0], (), True),
        ([0, NOTHING], (), True),
        ([NOTHING, NOTHING], (), False),
        ([1, 0], (), False),
        ([0, 1], (), False),
        ([1], ("-x",), False),
        ([STOPPED], (), False),
    ],
)
def test_both_kinds_run_and_both_have_to_pass(
    codes: list[int], ends: list[int], arguments: tuple[str, ...], passed: bool
) -> None:
    codes += ends
    outcomes = testing.run_kinds(Choice(), arguments, {})
    assert all(outcome.passed for outcome in outcomes) is passed


def test_one_failed_check_fails_all(
    codes: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes += [0, 0]
    monkeypatch.setattr(testing.subprocess, "call", lambda command, cwd: "mypy" in command)
    assert testing.run_tests(Choice(lesson="02"), ()) == 1
    shown = capsys.readouterr().out
    assert "FAILED  types (mypy)" in shown and "passed  style (ruff)" in shown
    assert "The slowest tests without a clock, at most 10\n  2.00s" in shown
    assert "passed  real tests, one at a time" in shown
    assert "tests without a clock: 1 --kind=clockless in 1s\n" in shown
    assert shown.endswith("real tests, one at a time: 1 --kind=real in 1s\n")
