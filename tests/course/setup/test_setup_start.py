"""How set-up starts and ends: the script, long commands, and what is left when it is killed."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from helpers.course.setup import places, progress
from helpers.course.setup.lock import locked
from tests.selection import everyday

# ---- finding Python: the shell script -----------------------------------------------------------


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The script in a project of its own, where no environment is yet."""
    project = tmp_path / "a project"
    setup = project / "helpers" / "course" / "setup"
    shutil.copytree(places.ROOT / "helpers" / "course" / "setup", setup)
    (project / "helpers" / "__init__.py").write_text("")
    (setup / "__main__.py").write_text(
        "import sys; print('started by', sys.executable, sys.argv[1:])"
    )
    shutil.copy(places.ROOT / "course", project)
    return project


def command(folder: Path, name: str, text: str) -> Path:
    """Put a command into a folder."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def course(
    project: Path, bin_folder: Path, script: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the script with nothing but its own tools and those of `bin_folder` on the path."""
    for tool in ("dirname", "id", "readlink", "sh"):
        found = shutil.which(tool)
        assert found is not None
        if not (bin_folder / tool).exists():
            bin_folder.mkdir(exist_ok=True)
            (bin_folder / tool).symlink_to(found)
    clean = {"PATH": str(bin_folder), "HOME": str(project), **env}
    return subprocess.run(
        [str(script or project / "course"), "lab"],
        env=clean,
        capture_output=True,
        text=True,
    )


@pytest.mark.real
def test_a_python_that_only_prints_an_error_is_passed_over(clone: Path, tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    command(bin_folder, "python3.11", "echo 'pyenv: python3.11: command not found' >&2; exit 127")
    good = command(bin_folder, "python3.12", f'exec "{progress.base_python()}" "$@"')
    told = course(clone, bin_folder)
    assert good.exists() and told.stdout.startswith("started by"), told.stderr
    assert "['lab']" in told.stdout


@pytest.mark.real
def test_no_python_is_one_helpful_sentence(clone: Path, tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    # Too old, and without venv: both answer, neither will do.
    command(bin_folder, "python3", "exit 1")
    told = course(clone, bin_folder)
    assert told.returncode == 1 and told.stdout == ""
    assert "needs Python 3.11, 3.12 or 3.13 with venv" in told.stderr
    assert "COURSE_PYTHON=" in told.stderr and len(told.stderr.splitlines()) == 1


@pytest.mark.thorough
@pytest.mark.real
def test_a_python_that_was_named_is_taken_or_refused(clone: Path, tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    named = command(tmp_path / "else where", "mine", f'exec "{progress.base_python()}" "$@"')
    assert course(clone, bin_folder, COURSE_PYTHON=str(named)).stdout.startswith("started by")
    refused = course(clone, bin_folder, COURSE_PYTHON="/no/python")
    assert refused.returncode == 1 and "COURSE_PYTHON is /no/python" in refused.stderr


# ---- long commands, and what is left when set-up ends ------------------------------------------


@pytest.mark.real
def test_a_command_is_logged_and_its_last_line_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PLAIN_EVERY", 0)
    log, there = tmp_path / "log", tmp_path / "there"
    code = (
        "import sys, time; from pathlib import Path; print('one'); print('two', flush=True)\n"
        f"while not Path({str(there)!r}).exists(): time.sleep(0.01)\nsys.exit(7)"
    )
    step = progress.Step("a step")
    show = step.show
    monkeypatch.setattr(step, "show", lambda: (show(), step.said == "two" and there.touch()))
    assert progress.run([sys.executable, "-c", code], log, step) == 7
    assert re.search(r"a step … \d+:\d\d two\n", capsys.readouterr().out)
    assert log.read_text().splitlines()[-2:] == ["one", "two"]


STARTS_A_GRANDCHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("grandchild", child.pid, flush=True)
child.wait()
"""

SETS_UP = """
import sys
from pathlib import Path
from helpers.course.setup import progress
progress.PLAIN_EVERY = 0
command = [sys.executable, "-c", sys.argv[1]]
progress.run(command, Path(sys.argv[2]), progress.Step("x"))
"""


@pytest.mark.real
@pytest.mark.parametrize("how", everyday([signal.SIGTERM, signal.SIGKILL, signal.SIGINT], 3))
def test_nothing_runs_on_when_set_up_is_killed(tmp_path: Path, how: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SETS_UP, STARTS_A_GRANDCHILD, str(tmp_path / "log")],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=places.ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    grandchild = None
    for line in process.stdout:
        if "grandchild" in line:
            grandchild = psutil.Process(int(line.split()[-1]))
            break
    assert grandchild is not None
    process.send_signal(how)
    process.wait(300)
    psutil.wait_procs([grandchild], timeout=300)
    assert not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE


def test_a_second_set_up_waits_for_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order: list[str] = []
    held = threading.Event()

    def first() -> None:
        with locked(tmp_path / "lock", "waiting"):
            held.set()
            while "waiting" not in capsys_text():
                time.sleep(0.01)
            order.append("first")

    said: list[str] = []

    def capsys_text() -> str:
        said.append(capsys.readouterr().out)
        return "".join(said)

    thread = threading.Thread(target=first)
    thread.start()
    held.wait()
    with locked(tmp_path / "lock", "waiting"):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]
