"""The commands of ./course: their options, and what they pass on."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.every import Wish
from helpers.course import cli, lab
from helpers.course.setup.places import ROOT
from helpers.course.testing.run import Choice


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments that a command hands to what does its work, which is not called."""
    calls: list[Any] = []

    def record(*args: Any, **kwargs: Any) -> int:
        calls.append((args, kwargs))
        return 3

    monkeypatch.setattr("helpers.course.lab.lab", record)
    monkeypatch.setattr("helpers.course.testing.run.run_tests", record)
    monkeypatch.setattr("helpers.course.build.run.build", record)
    monkeypatch.setattr("benchmarks.run.main", record)
    monkeypatch.setattr("benchmarks.every.main", record)
    return calls


@pytest.mark.real
def test_without_a_command_there_is_help(capfd: pytest.CaptureFixture[str]) -> None:
    told = subprocess.run([ROOT / "course"], capture_output=True, text=True)
    shown = told.stdout + told.stderr
    for command in ("lab", "test", "doctor", "build", "bench"):
        assert command in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (["lab", "--no-browser", "--port", "9000"], ((9000, False, ()), {})),
        (["lab", "--debug"], ((None, True, ("--debug",)), {})),
        (["test", "--fast", "-k", "ring"], ((Choice(fast=True), ("-k", "ring")), {})),
        (["test", "--all"], ((Choice(thorough=True), ()), {})),
        (["test", "--lesson", "02"], ((Choice(lesson="02"), ()), {})),
        (["test", "--", "--fast", "-x"], ((Choice(), ("--fast", "-x")), {})),
        (["build", "--check"], ((), {"check": True, "run": False, "only": ()})),
        (["build", "--run", "02"], ((), {"check": False, "run": True, "only": ("02",)})),
        (["bench", "launch", "--json"], (("launch", True, False), {})),
        (["bench", "grade", "--save"], (("grade", False, True), {})),
        (["bench", "all", "--again", "--json"], ((Wish(again=True, as_json=True),), {})),
        (["bench", "all", "--only-table", "--readme"], ((Wish(only_table=True, readme=True),), {})),
    ],
)
def test_commands_pass_on(called: list[Any], arguments: list[str], passed: Any) -> None:
    # The exit status is the one of what did the work.
    assert cli.main(arguments) == 3
    assert called == [passed]


def test_an_unknown_benchmark_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "speed"]) == 2
    assert "'speed' is not one of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["launch", "--again"], "--again, --only-table and --readme go with: bench all."),
        (["all", "--again", "--only-table"], "give one of them."),
    ],
)
def test_options_of_benchmarks_that_do_not_go_together_are_refused(
    called: list[Any], options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *options]) == 1
    assert said in capsys.readouterr().err and not called


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("no/such/x.zip", "No such file or directory. Nothing was written; name another place"),
        ("file/x.zip", "Not a directory. Nothing was written; name another place with --out."),
        ("full/x.zip", "No space left on device. Nothing was written; name"),
    ],
)
def test_a_release_that_cannot_be_written_is_told_in_a_sentence(
    tmp_path: Path,
    out: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "full"))

    (tmp_path / "full").mkdir()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setenv("COURSE_FROM", str(tmp_path))
    monkeypatch.setattr("helpers.grade.release.pack.contents", lambda *which: {"course": b""})
    monkeypatch.setattr("zipfile.ZipFile.writestr", full)
    assert cli.main(["release", "02", "--out", out]) == 1
    assert said in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.real
def test_the_command_imports_nothing_heavy() -> None:
    code = (
        "import sys, helpers.course.cli, helpers.course.setup.__main__\n"
        "print([m for m in ('torch', 'numpy', 'rich', 'jupyterlab') if m in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert told.stdout.strip() == "[]"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which something listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.mark.real
def test_a_busy_port_is_told(taken: int) -> None:
    command = [sys.executable, "-m", "helpers.course.cli", "lab", "--no-browser", f"--port={taken}"]
    told = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert told.returncode == 1 and f"port {taken} is not available" in told.stderr


ENDS = """
import threading
from helpers.course import lab

def serve(options, listens):
    threading.Thread(target=threading.Event().wait).start()  # as a request that is cut off leaves
    return 3

lab.serve = serve
print("started")
lab.lab(None, False, ("--debug",))
"""


@pytest.mark.real
def test_a_thread_of_a_request_that_was_cut_off_is_not_waited_for() -> None:
    done = subprocess.run([sys.executable, "-c", ENDS], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "started\n"), done.stderr


def test_the_server_stays_on_this_machine_and_keeps_its_token() -> None:
    options = lab.settings(9000)
    assert "--ServerApp.ip=127.0.0.1" in options
    assert not any("token" in option for option in options)
    assert lab.address(9000, "secret").endswith("?token=secret")


def test_a_lesson_that_there_is_not_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["test", "--lesson", "77"]) == 1
    assert "There is no lesson 77, only 00, 01" in capsys.readouterr().err
