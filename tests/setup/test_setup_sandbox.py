"""What set-up and doctor do about the sandbox that grading needs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import doctor
from helpers.instructor import sandbox
from helpers.setup import places, steps, system


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """A Linux machine without bubblewrap; returns what was asked of apt-get."""
    asked: list[Any] = []
    here = {"apt-get"}

    def install(tools: Any, log: Path, step: Any) -> bool:
        asked.append(list(tools))
        here.update(("bwrap", "setpriv", "unshare"))
        return True

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(places, "cache", lambda: tmp_path)
    monkeypatch.setattr(system.shutil, "which", lambda name: name if name in here else None)
    monkeypatch.setattr(system, "install", install)
    monkeypatch.setattr(system, "is_root", lambda: True)
    return asked


def test_root_gets_it_installed(bare: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    steps.ensure_sandbox()
    assert bare == [["bubblewrap", "setpriv and unshare"]]
    assert "installed" in capsys.readouterr().out
    steps.ensure_sandbox()
    assert len(bare) == 1


def test_others_are_told_the_line(
    bare: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(system, "is_root", lambda: False)
    steps.ensure_sandbox()
    said = capsys.readouterr().out
    assert bare == []
    assert "./course grade and its tests are left out" in said
    assert said.strip().endswith("sudo apt-get install bubblewrap")


@pytest.mark.parametrize("lacks", ["Linux", "an instructor's copy"])
def test_where_it_cannot_be_nothing_is_installed(
    bare: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    lacks: str,
) -> None:
    if lacks == "Linux":
        monkeypatch.setattr(sys, "platform", "darwin")
    else:
        monkeypatch.setattr(places, "grades", lambda: False)
    steps.ensure_sandbox()
    assert bare == []
    assert ("needs Linux" in capsys.readouterr().out) == (lacks == "Linux")


def test_doctor_tells_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "missing", lambda: "Type this.")
    found = doctor.find_sandbox()
    assert not found.found and found.cost.endswith("its tests are left out. Type this.")
    monkeypatch.setattr(sandbox, "missing", lambda: None)
    monkeypatch.setattr(doctor, "first_line", lambda *command: "bubblewrap 0.8.0")
    assert doctor.find_sandbox() == doctor.Finding("sandbox", True, "bubblewrap 0.8.0")
