"""What `./course test` does about the SLURM that its tests need."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.setup import __main__ as door
from helpers.setup import places, steps, system
from helpers.setup.progress import Step

COMMANDS = ("slurmctld", "slurmd", "sinfo", "srun", "sbatch", "munged")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """A Debian without SLURM, and root; returns the commands that set-up has run there."""
    calls: list[list[str]] = []
    here = {"apt-get", "service"}

    def run(command: Any, *others: Any, **options: Any) -> int:
        calls.append(list(command))
        if "install" in command:
            here.update(COMMANDS)
        return 0

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(places, "cache", lambda: tmp_path)
    monkeypatch.setattr(
        system.shutil, "which", lambda name, path=None: name if name in here else None
    )
    monkeypatch.setattr(system, "run", run)
    monkeypatch.setattr(system, "is_root", lambda: True)
    monkeypatch.setattr(system, "is_debian", lambda: True)
    return calls


def test_root_on_debian_gets_it_and_no_daemon_stays(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    booted_by = {"systemd": True}
    monkeypatch.setattr(Path, "is_dir", lambda path: booted_by["systemd"])
    monkeypatch.setattr(Path, "exists", lambda path: "slurmd" not in path.name)
    steps.ensure_slurm()
    installed = next(call for call in asked if "install" in call)
    assert installed[-3:] == ["--no-install-recommends", "slurm-wlm", "munge"]
    assert asked[-1] == ["systemctl", "disable", "--now", "slurmctld", "slurmd", "munge"]
    assert "SLURM and munge, for the tests of lesson 17: installed" in capsys.readouterr().out
    # It is there now, and is not looked at again.
    asked.clear()
    steps.ensure_slurm()
    assert asked == []
    # Without systemd, init's scripts are asked, those that there are.
    booted_by["systemd"] = False
    system.stop_services(["SLURM", "munge"], Path("a.log"), Step("a step"))
    assert asked == [["service", "slurmctld", "stop"], ["service", "munge", "stop"]]


@pytest.mark.parametrize("lacks", ["is_root", "is_debian"])
def test_others_are_told_the_line(
    asked: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    lacks: str,
) -> None:
    monkeypatch.setattr(system, lacks, lambda: False)
    steps.ensure_slurm()
    assert asked == []
    assert capsys.readouterr().out.strip().endswith("sudo apt-get install slurm-wlm munge")


@pytest.mark.parametrize(
    ("command", "wanted"), [("test", ["browser", "slurm", "sandbox"]), ("grade", ["sandbox"])]
)
def test_only_the_tests_ask_for_it(
    monkeypatch: pytest.MonkeyPatch, command: str, wanted: list[str]
) -> None:
    ensured: list[str] = []
    for name in ("browser", "slurm", "sandbox"):
        monkeypatch.setattr(steps, f"ensure_{name}", lambda name=name: ensured.append(name))
    door._what_it_needs(command)
    assert ensured == wanted
