"""How Horovod is built: its edits, its wheel's name, and what is said where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.course.setup import horovod, packages, places, state, system
from helpers.course.setup.progress import SetupFailed


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


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment and a cache in which nothing is built; each command fails."""
    monkeypatch.setattr(places, "cache", lambda: tmp_path)
    monkeypatch.setattr(places, "environment", lambda: tmp_path)
    monkeypatch.setattr(horovod, "cache_key", lambda: "horovod-key")
    monkeypatch.setattr(horovod, "run", lambda call, log, *_: log.write_text(SAID[0]))
    monkeypatch.setattr(system, "missing_build_tools", lambda: [])
    monkeypatch.setattr(system, "may_install", lambda: False)
    return tmp_path


SAID = [""]
CMAKE = """\
  -- Unable to find cudart library.
  CMake Deprecation Warning at third_party/gloo/CMakeLists.txt:1 (cmake_minimum_required):
  CMake Error at /somewhere/FindPackageHandleStandardArgs.cmake:233 (message):
    Could NOT find CUDAToolkit (missing: CUDAToolkit_INCLUDE_DIR CUDA_CUDART)
    (found version "13.0.88")
"""


@pytest.mark.parametrize(
    ("log", "quoted"),
    [
        (CMAKE, "Could NOT find CUDAToolkit (missing: CUDAToolkit_INCLUDE_DIR CUDA_CUDART)"),
        ("ok\na.cc:3:1: error: expected ‘;’\nerror: exit 1\n", "(a.cc:3:1: error: expected ‘;’"),
        ("/usr/bin/ld: cannot find -lgloo\ncollect2: error: ld\n", "(/usr/bin/ld: cannot find -l"),
        ("as: No space left on device\n", "(as: No space left on device)"),
        ("nothing\n", "the whole log is"),
    ],
)
def test_without_horovod_set_up_goes_on_and_quotes_the_reason(
    here: Path, log: str, quoted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    SAID[0] = log
    horovod.ensure(quiet=True)
    said = capsys.readouterr().out
    assert "[3/3] Horovod: left out" in said and quoted in said
    assert "Horovod's source could not be downloaded (" in said
    assert said.endswith("horovod-key.log to have it tried again.\n")
    missing = state.horovod_missing()
    assert missing and missing in said and state.horovod_settled()
    Path(state.load()["horovod"]["log"]).unlink()
    assert not state.horovod_settled()
    assert not list(here.glob("build"))


def test_without_a_compiler_the_line_to_type_is_told(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(system, "missing_build_tools", lambda: ["a C++ compiler", "make"])
    horovod.ensure()
    assert state.load()["horovod"]["wants"] == "tools"
    assert "Horovod needs a C++ compiler and make to be built." in capsys.readouterr().out


def test_a_wheel_that_was_built_is_taken_and_one_that_does_not_load_is_not_kept(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = here / "horovod-key" / "horovod.whl"
    wheel.parent.mkdir()
    wheel.touch()
    loads = [True, False]
    monkeypatch.setattr(horovod, "run", lambda call, log, *_: log.write_text("") and 0)
    monkeypatch.setattr(packages, "loads", lambda *_: loads.pop(0))
    horovod.ensure()
    assert state.load()["horovod"] == {"wheel": str(wheel)}
    horovod.ensure()  # it is there
    assert len(loads) == 1
    state.save({})
    horovod.ensure()
    assert "does not load here" in str(state.horovod_missing()) and not wheel.exists()
