"""What set-up decides and records, without a network."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.setup import __main__ as door
from helpers.setup import packages, places, state, steps, system
from helpers.setup.errors import SetupFailed

# ---- what is recorded ---------------------------------------------------------------------------


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that takes itself for the running one."""
    folder = tmp_path / ".venv"
    folder.mkdir()
    monkeypatch.setattr(places, "environment", lambda: folder)
    monkeypatch.setattr(sys, "prefix", str(folder))
    return folder


def complete() -> dict[str, Any]:
    return {
        "packages": state.key(),
        "checked": state.key(),
        "python": state.version(),
        "root": str(places.ROOT),
        "horovod": {"wheel": "horovod.whl"},
    }


def test_a_complete_environment_is_ready(environment: Path) -> None:
    assert not state.ready()
    state.save(environment, complete())
    assert state.ready()
    assert [path.name for path in environment.iterdir()] == ["course.json"]


@pytest.mark.parametrize(
    "change",
    [
        {"packages": None},
        {"packages": "other pins"},
        {"checked": None},
        {"python": "3.10"},
        {"root": "/elsewhere"},
        {"horovod": None},
    ],
)
def test_anything_else_is_not(environment: Path, change: dict[str, Any]) -> None:
    state.save(environment, {**complete(), **change})
    assert not state.ready()


def test_horovod_is_tried_again_when_a_compiler_is_there(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.save(environment, {**complete(), "horovod": {"missing": "…", "wants": "tools"}})
    monkeypatch.setattr(system, "missing_build_tools", lambda header: ["make"])
    assert state.ready()
    monkeypatch.setattr(system, "missing_build_tools", lambda header: [])
    assert not state.ready()


def test_the_key_follows_pins_and_dependencies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(places.ROOT / name, tmp_path)
    monkeypatch.setattr(places, "ROOT", tmp_path)
    first = state.key()
    pyproject = tmp_path / "pyproject.toml"
    # Other settings in pyproject.toml are no reason to install anything.
    pyproject.write_text(pyproject.read_text().replace("line-length = 100", "line-length = 90"))
    assert state.key() == first
    pyproject.write_text(pyproject.read_text().replace('"click"', '"click>1"'))
    second = state.key()
    with (tmp_path / "constraints.txt").open("a") as file:
        file.write("more==1\n")
    assert len({first, second, state.key()}) == 3


@pytest.mark.thorough
@pytest.mark.real
def test_a_half_made_environment_is_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / ".venv"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "half").write_text("")
    (tmp_path / ".venv.old-1").mkdir()
    state.save(folder, {"packages": None})
    packages.make_environment(folder, tmp_path / "log")
    assert packages.python_version(places.python(folder)) == state.version()
    assert not (folder / "lib" / "half").exists()
    assert not list(tmp_path.glob(".venv.old-*"))
    # Until packages are in, it still counts as half made.
    assert json.loads(state.path(folder).read_text()) == {"packages": None}


def test_an_environment_from_elsewhere_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "run", lambda *_, **__: 0)
    monkeypatch.setattr(packages, "python_version", lambda python: state.version())
    monkeypatch.setattr(packages, "_fit", lambda *_: None)  # test_setup_moved.py fits one
    folder = tmp_path / ".venv"
    for root, kept in ((str(places.ROOT), True), ("/elsewhere", False)):
        folder.mkdir(exist_ok=True)
        (folder / "packages").write_text("")
        state.save(folder, {**complete(), "root": root})
        packages.make_environment(folder, tmp_path / "log")
        assert (folder / "packages").exists() == kept


def test_the_conda_environment_is_used_where_it_is_active(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path))
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "base")
    assert places.environment() == places.ROOT / ".venv"
    monkeypatch.setenv("CONDA_DEFAULT_ENV", places.NAME)
    assert places.environment() == tmp_path
    # It is the user's: set-up never makes it anew.
    state.save(tmp_path, {"packages": None})
    packages.make_environment(tmp_path, tmp_path / "log")
    assert state.path(tmp_path).exists()


# ---- the door -----------------------------------------------------------------------------------


def test_help_and_doctor_need_no_set_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(state, "ready", lambda: False)
    monkeypatch.setattr(steps, "ensure", lambda: pytest.fail("set-up was started"))
    monkeypatch.setattr("helpers.doctor.show", lambda: 0)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        for arguments in ([], ["--help"], ["lab", "--help"], ["doctor"]):
            assert door.main(arguments) == 0
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert "./course lab" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (SetupFailed("The disk is full; free 5 GB."), 1, "The disk is full; free 5 GB."),
        (PermissionError(13, "Permission denied", ".venv.lock"), 1, "cannot write: Permission"),
        (KeyboardInterrupt(), 130, "the same command goes on"),
    ],
)
def test_a_failed_set_up_is_one_message(
    error: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(state, "ready", lambda: False)
    monkeypatch.setattr(steps, "ensure", fail)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert door.main(["lab"]) == status
    finally:
        signal.signal(signal.SIGTERM, handler)
    told = capsys.readouterr().err.strip()
    assert said in told and len(told.splitlines()) == 1
