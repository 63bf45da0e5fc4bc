"""How Horovod is built: its edits, its wheel's name, and what is said where it cannot be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.setup import disk, horovod, packages, places, progress, state, steps, system
from helpers.setup.errors import DiskFull, SetupFailed


def source(folder: Path) -> Path:
    """As much of Horovod's source as the edits touch."""
    for edit in horovod.EDITS:
        path = folder / edit.file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(f"before\n{edit.old}\nafter\n")
    return folder


def test_the_edits_change_what_they_name(tmp_path: Path) -> None:
    horovod.apply_edits(source(tmp_path))
    assert "STANDARD 17" in (tmp_path / "CMakeLists.txt").read_text()
    # Whatever torch's build says, and whatever toolkit is there: operations on the CPU.
    asked = (tmp_path / "cmake/Modules/FindPytorch.cmake").read_text()
    assert "set(Pytorch_CUDA FALSE)" in asked and "set(Pytorch_ROCM FALSE)" in asked
    assert "CUDA_HOME" not in asked and "ROCM_HOME" not in asked
    assert "check_language(CUDA)" not in (tmp_path / "CMakeLists.txt").read_text()
    of_tensorflow = (tmp_path / "horovod/tensorflow/CMakeLists.txt").read_text()
    assert "xla_mpi_ops" not in of_tensorflow and "compatible17_gloo" not in of_tensorflow
    for name in ("__init__.py", "callbacks.py"):
        text = (tmp_path / "horovod/tensorflow/keras" / name).read_text()
        assert "from tf_keras import backend" in text


def test_an_unexpected_source_is_refused(tmp_path: Path) -> None:
    for number, edit in enumerate(horovod.EDITS):
        folder = source(tmp_path / str(number))
        (folder / edit.file).write_text("something else")
        with pytest.raises(SetupFailed, match="is not the file that the course knows"):
            horovod.apply_edits(folder)


def test_builds_of_torch_have_their_own_wheels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some say in their package's version what they are, some only in a file of theirs."""
    for package, version in (("torch", "2.13.0"), ("tensorflow", "2.21.0")):
        (tmp_path / f"{package}-{version}.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        (tmp_path / f"{package}-{version}.dist-info" / "METADATA").write_text(metadata)
    (tmp_path / "torch").mkdir()
    monkeypatch.setattr(packages, "site", lambda python: tmp_path)
    keys = set()
    for build in ("2.13.0", "2.13.0+cpu", "2.13.0+cu130"):
        (tmp_path / "torch" / "version.py").write_text(f"debug = False\n__version__ = '{build}'\n")
        keys.add(horovod.cache_key("3.11", packages.versions(Path("python"))))
    assert len(keys) == 3


def test_horovod_waits_for_room_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "cache", lambda: tmp_path)
    monkeypatch.setattr(disk, "free", lambda folder: 0.2e9)
    monkeypatch.setattr(horovod, "run", lambda *_: pytest.fail("something was downloaded"))
    with pytest.raises(DiskFull, match=r"about 1 GB while it is built, and 0\.2 GB is free"):
        horovod.build(tmp_path, "key", tmp_path / "log", progress.Step("x"))
    left_out = {"horovod": {"missing": "…", "wants": "room"}}
    assert state.horovod_settled(left_out)
    monkeypatch.setattr(disk, "free", lambda folder: 20e9)
    assert not state.horovod_settled(left_out)


def test_without_a_compiler_set_up_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(places, "cache", lambda: tmp_path)
    monkeypatch.setattr(horovod, "cached", lambda key: None)
    monkeypatch.setattr(
        packages, "versions", lambda python: {"torch": "2.13.0", "tensorflow": "2.21.0"}
    )
    monkeypatch.setattr(packages, "python_version", lambda python: "3.11")
    monkeypatch.setattr(system, "header_of", lambda python: tmp_path)
    monkeypatch.setattr(system, "missing_build_tools", lambda header: ["a C++ compiler", "make"])
    monkeypatch.setattr(system, "may_install", lambda: False)
    known = steps._horovod(tmp_path, {"packages": "x"})
    assert known["horovod"]["wants"] == "tools"
    assert state.load(tmp_path) == known
    assert "Horovod needs a C++ compiler and make to be built." in capsys.readouterr().out


def test_the_line_to_type_fits_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = ["a C++ compiler", "make"]
    monkeypatch.setattr(sys, "platform", "linux")
    for manager, line in (
        ("apt-get", "sudo apt-get install g++ make"),
        ("dnf", "sudo dnf install gcc-c++ make"),
        ("pacman", "sudo pacman -S gcc make"),
        ("none", "install a C++ compiler, make with your system's package manager"),
    ):
        monkeypatch.setattr(
            system.shutil, "which", lambda name, manager=manager: name if name == manager else None
        )
        assert system.install_line(tools) == line
    monkeypatch.setattr(sys, "platform", "darwin")
    assert system.install_line(tools) == "xcode-select --install"
