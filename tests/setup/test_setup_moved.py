"""An environment that was moved or copied with its folder goes on where it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from helpers.setup import moved, packages, places, state

pytestmark = [pytest.mark.thorough, pytest.mark.real]
RECORD = "a/__init__.py,sha256=x,5\na/__pycache__/__init__.pyc,,\n../../../bin/a,sha256=x,9\n"


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set-up checkout with one package, which has a command; returns its folder."""
    root = tmp_path / "old place"
    venv.create(root / ".venv", with_pip=False, symlinks=os.name != "nt")
    python = places.python(root / ".venv")
    site = packages.site(python)
    for name, text in (("a/__init__.py", "b = 1"), ("a-1.dist-info/RECORD", RECORD)):
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text(text)
    command = python.parent / "a"
    command.write_text(moved.launcher(python) + "import a, sys\nprint(a.b, sys.prefix)\n")
    command.chmod(0o755)
    known = {"packages": "pins", "checked": "pins", "root": str(root), "horovod": {}}
    state.save(root / ".venv", known)
    monkeypatch.setattr(places, "ROOT", root)
    return root


def arrive(old: Path, new: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Move the checkout, as the learner does, and go on in it. Returns its environment."""
    old.rename(new)
    monkeypatch.setattr(places, "ROOT", new)
    monkeypatch.setattr(places, "environment", lambda: new / ".venv")
    return new / ".venv"


posix = pytest.mark.skipif(os.name == "nt", reason="scripts begin otherwise on Windows")


@posix
@pytest.mark.parametrize("name", ["a new place", "n" * 140])
def test_it_is_fitted_to_its_new_place(
    old: Path, tmp_path: Path, name: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    environment = arrive(old, tmp_path / name, monkeypatch)
    known = packages.make_environment(environment, tmp_path / "log")
    said = capsys.readouterr().out
    assert f"The course was at {old} before" in said and "made anew" not in said
    assert known["root"] == str(tmp_path / name) and known["packages"] == "pins"
    # It counts as ready only once it was seen to load.
    assert "checked" not in known and state.load(environment) == known
    told = subprocess.run([environment / "bin" / "a"], capture_output=True, text=True, check=True)
    assert told.stdout.split(" ", 1) == ["1", f"{environment}\n"]
    assert str(environment) in (environment / "bin" / "activate").read_text()
    assert str(old) not in (environment / "bin" / "activate").read_text()
    assert not list(environment.glob("*tmp"))


@posix
@pytest.mark.parametrize("torn", ["gone", "cut off"])
def test_a_copy_that_is_not_whole_is_made_anew(
    old: Path, tmp_path: Path, torn: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    environment = arrive(old, tmp_path / "new", monkeypatch)
    file = packages.site(places.python(environment)) / "a" / "__init__.py"
    if torn == "gone":
        file.unlink()
    else:
        file.write_text("b =")
    monkeypatch.setattr(packages, "run", lambda *_, **__: 0)
    assert packages.make_environment(environment, tmp_path / "log") == {"packages": None}
    assert "has not come here whole: it is made anew" in capsys.readouterr().out
    assert not file.exists()


@posix
def test_it_is_said_why_an_environment_is_made_anew(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packages, "run", lambda *_, **__: 0)
    environment = old / ".venv"
    state.save(environment, {"packages": None})
    packages.make_environment(environment, tmp_path / "log")
    assert "is half made, since set-up was cut off: it is made anew" in capsys.readouterr().out
    shutil.rmtree(environment)
    environment.mkdir()
    state.save(environment, {"packages": "pins"})
    packages.make_environment(environment, tmp_path / "log")
    assert "has no Python 3.11, 3.12 or 3.13 that starts" in capsys.readouterr().out
