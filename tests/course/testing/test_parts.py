"""`./course test --all` goes on where it was ended, on the same commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from helpers.course.setup.places import ROOT
from helpers.course.testing import parts
from helpers.course.testing import run as testing
from helpers.course.testing.run import KINDS, Choice

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


def run(path: Path) -> tuple[bool, list[str], list[str]]:
    """Run what is left; whether all is well, what is said, and what ran."""
    path.write_text("")
    told: dict[str, list[str]] = {}
    outcomes = testing.run_what_is_left(Choice(thorough=True), told)
    return (
        all(outcome.passed for outcome in outcomes),
        told["on this commit"],
        sorted(path.read_text().split()),
    )


@pytest.mark.real
def test_what_passed_is_not_run_again(ran: Path) -> None:
    well, said, names = run(ran)
    assert names == ["test_good", "test_last", "test_mended", "test_moon", "test_plain"]
    assert not well and said == [
        "3 passed, 1 failed, 1 skipped, 0 never run",
        "failed: tests/test_suite.py::test_mended",
        "skipped: 1 × no moon here",
    ]
    ran.with_name("ran.mended").touch()
    assert run(ran) == (
        True,
        ["4 passed, 0 failed, 1 skipped, 0 never run", "skipped: 1 × no moon here"],
        ["test_mended", "test_moon"],
    )


@pytest.mark.real
@pytest.mark.thorough
def test_with_something_that_is_not_committed_nothing_is_kept(
    ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (testing.ROOT / "tests/more.txt").touch()
    for _ in range(2):
        assert len(run(ran)[2]) == 5
    assert "Something is not committed, so what passes is not kept" in capsys.readouterr().out
    assert not (testing.ROOT / parts.KEPT).exists()


def test_what_was_never_run_is_said_by_module(tmp_path: Path) -> None:
    notes = parts.Notes(tmp_path)
    notes.choose("clockless", ["a.py::one", "a.py::two", "b.py::one", "b.py::two[3]"])
    notes.note("a.py::one", "failed")
    notes.note("a.py::one", "passed")  # how it ended last counts
    whole, said = parts.account(notes, KINDS)
    assert not whole and said == [
        "1 passed, 0 failed, 0 skipped, 3 never run",
        "never run: every real test",
        "never run: b.py (2), a.py (1)",
    ]


def test_a_line_that_a_kill_cut_short_is_no_line(tmp_path: Path) -> None:
    notes = parts.Notes(tmp_path)
    notes.note("a.py::one", "passed")
    with (tmp_path / "ended.jsonl").open("a") as file:
        file.write('["a.py::two", "pas')
    assert list(notes.ended()) == ["a.py::one"]
    notes.begin()
    notes.note("a.py::two", "passed")
    assert list(notes.ended()) == ["a.py::one", "a.py::two"]
