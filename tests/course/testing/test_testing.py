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
from helpers.course.testing.run import KEPT, NOTHING, STOPPED, Choice, pytest_command


@pytest.mark.parametrize("kind", testing.KINDS)
def test_paths_given_to_test_replace_the_usual_ones(kind: str) -> None:
    command = pytest_command(kind, Choice(), ["tests/course/test_cli.py::test_x", "-q"])
    assert command[-2:] == ["tests/course/test_cli.py::test_x", "-q"]
    assert "tests" not in command and "-n" not in command and f"--kind={kind}" in command


def test_what_has_no_clock_is_shared_by_as_many_processes_as_the_machine_has_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = pytest_command("clockless", Choice(), [])
    assert int(command[command.index("-n") + 1]) == testing.workers() >= 1
    assert "-n" in pytest_command("clockless", Choice(), ["tests/engine"])
    assert "-n" not in pytest_command("real", Choice(), [])
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=3e9))
    assert testing.workers() == 1


def test_fast_leaves_out_what_is_slow() -> None:
    command = pytest_command("clockless", Choice(fast=True), ["-k", "ring"])
    assert command[command.index("-m", 3) + 1] == "not slow" and "tests" in command


@pytest.mark.real
def test_an_interrupt_ends_pytest_and_what_it_would_have_run_next(tmp_path: Path) -> None:
    there = tmp_path / "there"
    one = f"import time; open({str(there)!r}, 'w'); time.sleep(600)"
    code = (
        "import sys\nfrom helpers.course.testing import run as testing\n"
        f"testing.pytest_command = lambda *how: [sys.executable, '-c', {one!r}]\n"
        "print(testing.run_kinds(testing.Choice(), []))"
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
    monkeypatch.setattr(testing, "run_pytest", lambda command: told.pop(0))
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
    outcomes = testing.run_kinds(Choice(), arguments)
    assert all(outcome.passed for outcome in outcomes) is passed


def test_one_failed_check_fails_all(
    codes: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes += [0, 0]
    monkeypatch.setattr(testing.subprocess, "call", lambda command, cwd: "mypy" in command)
    assert testing.run_tests(Choice(lesson="02"), ()) == 1
    shown = capsys.readouterr().out
    assert "FAILED  types (mypy)" in shown and "passed  style (ruff)" in shown
    assert "passed  real tests, one at a time" in shown


# --- --all goes on where it was ended, on the same commit -----------------------------------------

# As tests/conftest.py asks the two, without what its tests need.
CONFTEST = """
import pytest
from tests import kinds, parts

def pytest_addoption(parser):
    parser.addoption("--all", action="store_true")
    kinds.add_options(parser)
    parts.add_options(parser)

def pytest_configure(config):
    config.addinivalue_line("markers", "real: starts processes")
    parts.configure(config)

def pytest_collection_modifyitems(config, items):
    items[:] = parts.leave_out(config, kinds.choose(config, items))
"""
SUITE = """
import os
import pytest

@pytest.fixture(autouse=True)
def counted(request):
    with open(os.environ["RAN"], "a") as file:
        print(request.node.name, file=file)

def test_plain():
    pass

@pytest.mark.real
def test_good():
    pass

@pytest.mark.real
def test_mended():
    assert os.path.exists(os.environ["RAN"] + ".mended")

@pytest.mark.real
def test_moon():
    pytest.skip("no moon here")

@pytest.mark.real
def test_last():
    pass
"""


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one commit with a suite of five tests; each writes its name here as it runs."""
    course, path = tmp_path / "course", tmp_path / "ran"
    (course / "tests").mkdir(parents=True)
    (course / "tests/conftest.py").write_text(CONFTEST)
    (course / "tests/test_suite.py").write_text(SUITE)
    (course / ".gitignore").write_text(".pytest_cache\n__pycache__\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *words], cwd=course, check=True)
    monkeypatch.setattr(testing, "ROOT", course)
    monkeypatch.setattr(testing, "workers", lambda: 2)
    monkeypatch.setenv("RAN", str(path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return path


def run(path: Path) -> tuple[bool, list[str]]:
    """Run what is left; whether all is well, and what ran."""
    path.write_text("")
    outcomes = testing.run_kinds(Choice(thorough=True), testing.goes_on())
    return all(outcome.passed for outcome in outcomes), sorted(path.read_text().split())


@pytest.mark.real
def test_what_passed_is_not_run_again(ran: Path) -> None:
    names = ["test_good", "test_last", "test_mended", "test_moon", "test_plain"]
    assert run(ran) == (False, names)
    ran.with_name("ran.mended").touch()
    assert run(ran) == (True, ["test_mended", "test_moon"])
    (testing.ROOT / "tests/more.txt").touch()  # of what is not committed nothing is known
    assert run(ran) == (True, names)
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["add", "."], ["commit", "-qm", "two"]):
        subprocess.run(["git", *who, *words], cwd=testing.ROOT, check=True)
    assert run(ran) == (True, names) and len(list((testing.ROOT / KEPT).iterdir())) == 1
