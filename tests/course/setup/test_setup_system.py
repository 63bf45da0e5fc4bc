"""What set-up does about what the system brings, and what it says where it may not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.course import doctor
from helpers.course.setup import places, system
from helpers.grade import sandbox

COMMANDS = {
    "slurm-wlm": {"slurmctld", "slurmd", "sinfo", "srun", "sbatch"},
    "munge": {"munged"},
    "bubblewrap": {"bwrap"},
    "util-linux": {"setpriv", "unshare"},
    "chromium": {"chromium"},
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """A bare Debian, and root; returns the commands that set-up has run there."""
    calls: list[list[str]] = []
    here = {"apt-get", "service"}

    def run(command: Any, *others: Any, **options: Any) -> int:
        calls.append(list(command))
        if "install" in command:
            here.update(*(COMMANDS.get(word, ()) for word in command))
        return 0

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(places, "cache", lambda: tmp_path)
    monkeypatch.setattr(
        system.shutil, "which", lambda name, path=None: name if name in here else None
    )
    monkeypatch.setattr(system.Path, "home", lambda: tmp_path)
    monkeypatch.setattr(system, "run", run)
    monkeypatch.setattr(system, "is_root", lambda: True)
    monkeypatch.setattr(system, "is_debian", lambda: True)
    return calls


def installed(asked: list[list[str]]) -> list[list[str]]:
    """The packages of each installation."""
    return [call[call.index("-y") + 1 :] for call in asked if "install" in call]


SLURM = ["--no-install-recommends", "slurm-wlm", "munge"]
SANDBOX = ["bubblewrap", "util-linux"]


@pytest.mark.parametrize("command", ["test", "grade"])
def test_root_gets_what_a_command_needs(
    asked: list[list[str]], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    system.obtain_for(command)
    tests = [["chromium"], SLURM] if command == "test" else []
    assert installed(asked) == [*tests, SANDBOX]
    assert "bubblewrap and setpriv and unshare, which this command needs: installed" in (
        capsys.readouterr().out
    )
    # It is there now, and is not looked at again.
    asked.clear()
    system.obtain_for(command)
    assert asked == []


@pytest.mark.parametrize(
    ("systemd", "ended"),
    [
        (True, [["systemctl", "disable", "--now", "slurmctld", "slurmd", "munge"]]),
        # Without systemd, init's scripts are asked, those that there are.
        (False, [["service", "slurmctld", "stop"], ["service", "munge", "stop"]]),
    ],
)
def test_no_daemon_that_came_along_stays(
    asked: list[list[str]], systemd: bool, ended: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "is_dir", lambda path: systemd)
    monkeypatch.setattr(Path, "exists", lambda path: "slurmd" not in path.name)
    system.install(["SLURM", "munge"], Path("a.log"), system.Step("a step"))
    assert asked[-len(ended) :] == ended


@pytest.mark.parametrize(("lacks", "gets"), [("is_root", []), ("is_debian", [SANDBOX])])
def test_others_are_told_the_line(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], lacks: str, gets: Any,
) -> None:  # fmt: skip
    monkeypatch.setattr(system, lacks, lambda: False)
    system.obtain_for("test")
    assert installed(asked) == gets
    said = capsys.readouterr().out
    assert "To have them: sudo apt-get install slurm-wlm munge\n" in said
    assert "so the browser test is left out. To have it: " in said
    if not gets:
        assert "so ./course grade and its tests are left out" in said


@pytest.mark.parametrize("lacks", ["Linux", "an instructor's copy"])
def test_where_nothing_is_graded_no_sandbox_is_installed(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], lacks: str,
) -> None:  # fmt: skip
    if lacks == "Linux":
        monkeypatch.setattr(sys, "platform", "darwin")
    else:
        monkeypatch.setattr(places, "grades", lambda: False)
    system.obtain_for("grade")
    assert asked == []
    assert ("needs Linux" in capsys.readouterr().out) == (lacks == "Linux")


def test_doctor_tells_what_a_sandbox_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "missing", lambda: "Type this.")
    found = doctor.find_sandbox()
    assert not found.found and found.cost.endswith("its tests are left out. Type this.")
    monkeypatch.setattr(sandbox, "missing", lambda: None)
    monkeypatch.setattr(doctor, "first_line", lambda *command: "bubblewrap 0.8.0")
    assert doctor.find_sandbox() == doctor.Finding("sandbox", True, "bubblewrap 0.8.0")


@pytest.mark.parametrize(
    ("manager", "line"),
    [
        ("apt-get", "sudo apt-get install g++ make"),
        ("dnf", "sudo dnf install gcc-c++ make"),
        ("pacman", "sudo pacman -S gcc make"),
        ("none", "install a C++ compiler, make with your system's package manager"),
        ("xcode-select", "xcode-select --install"),
    ],
)
def test_the_line_to_type_fits_the_system(
    manager: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin" if manager == "xcode-select" else "linux")
    monkeypatch.setattr(system.shutil, "which", lambda name: name if name == manager else None)
    assert system.install_line(["a C++ compiler", "make"]) == line
