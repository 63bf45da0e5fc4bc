"""What set-up decides and records, without a network."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.course.setup import __main__ as door
from helpers.course.setup import homes, horovod, packages, places, state, steps, system
from helpers.course.setup.progress import SetupFailed


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment that takes itself for the running one."""
    folder = tmp_path / ".venv"
    folder.mkdir()
    monkeypatch.setattr(places, "environment", lambda: folder)
    monkeypatch.setattr(sys, "prefix", str(folder))
    return folder


@pytest.fixture
def no_signal() -> Iterator[None]:
    """The door's handler of signals is taken back."""
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


# ---- what is recorded ---------------------------------------------------------------------------

HOROVOD = {"horovod": {"wheel": "horovod.whl"}}


def test_a_complete_environment_is_ready(environment: Path) -> None:
    assert not state.ready()
    state.save(state.complete() | HOROVOD)
    assert state.ready() and state.horovod_missing() is None
    assert [path.name for path in environment.iterdir()] == ["course.json"]


@pytest.mark.parametrize(
    ("change", "installed"),
    [
        ({"packages": None}, False),
        ({"packages": "other pins"}, False),
        ({"python": "3.10"}, False),
        ({"root": "/elsewhere"}, False),
        ({"horovod": {}}, True),
        ({"horovod": {"missing": "…", "log": "/gone"}}, True),
    ],
)
def test_anything_else_is_not(environment: Path, change: dict[str, Any], installed: bool) -> None:
    state.save(state.complete() | HOROVOD | change)
    assert not state.ready() and state.installed() == installed


def test_horovod_is_tried_again_when_a_compiler_is_there(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.save(state.complete() | {"horovod": {"missing": "…", "wants": "tools"}})
    monkeypatch.setattr(system, "missing_build_tools", lambda: ["make"])
    assert state.ready() and state.horovod_missing() == "…"
    monkeypatch.setattr(system, "missing_build_tools", lambda: [])
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


# ---- the environment ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, True),
        ({"packages": "other pins"}, True),  # pip or uv bring them up to date
        ({"packages": None}, False),  # set-up was cut off
        ({"root": "/elsewhere"}, False),
        ({"python": "3.10"}, False),
    ],
)
def test_an_environment_is_kept_or_made_anew(
    environment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    change: dict[str, Any], kept: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(packages, "run", lambda *_, **__: 0)
    (environment / "bin").mkdir()
    (environment / "bin/python").touch()
    state.save(state.complete() | change)
    packages.make_environment(environment / "log")
    assert (environment / "bin").exists() == kept
    assert ("it is made anew" in capsys.readouterr().out) != kept
    if not kept:  # until packages are in, it still counts as half made
        assert state.load() == {"packages": None}
        return
    (environment / "bin/python").unlink()
    packages.make_environment(environment / "log")
    assert not (environment / "bin").exists()


def test_an_environment_of_somebody_elses_is_left_alone(environment: Path) -> None:
    (environment / "inside").touch()
    with pytest.raises(SetupFailed, match="is not of the course's making"):
        packages.make_environment(environment / "log")
    assert (environment / "inside").exists()


def test_the_conda_environment_is_used_where_it_is_active(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path))
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "base")
    assert places.environment() == places.ROOT / ".venv"
    monkeypatch.setenv("CONDA_DEFAULT_ENV", places.NAME)
    assert places.environment() == tmp_path
    # It is the user's: set-up never makes it anew.
    state.save({"packages": None})
    packages.make_environment(tmp_path / "log")
    assert state.load() == {"packages": None}


def test_without_room_nothing_is_begun(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.rmdir()
    usage = type("Usage", (), {"free": 3e9})
    monkeypatch.setattr(packages.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(SetupFailed, match=r"3\.0 GB is free .* need 5 GB, or twice that"):
        packages.make_environment(environment / "log")
    assert not environment.exists()


# ---- the packages -------------------------------------------------------------------------------


@pytest.fixture
def ran(environment: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that an installation runs; those fail that hold a word of `FAILS`."""
    calls: list[list[str]] = []

    def run(call: list[str], log: Path, *_: Any) -> int:
        calls.append([str(one) for one in call])
        log.write_text("error: No space left on device (os error 28)\n")
        if calls[-1][-1].startswith("uv=="):
            (environment / "bin").mkdir(exist_ok=True)
            (environment / "bin/uv").touch()
        return int(any(word in calls[-1] for word in FAILS))

    FAILS.clear()
    monkeypatch.setattr(packages, "run", run)
    monkeypatch.setattr(packages, "_pip_settings", lambda env: "")
    monkeypatch.setattr(packages, "make_importable", lambda: None)
    monkeypatch.setattr(places, "cache", lambda: environment / "cache")
    monkeypatch.delenv(packages.INSTALLER, raising=False)
    return calls


FAILS: set[str] = set()


def test_uv_installs_from_its_cache_or_else_from_the_network(ran: list[list[str]]) -> None:
    FAILS.add("--offline")
    packages.install(places.environment() / "log")
    had, offline, online, _ = ran
    assert had[-1] == state.pinned("uv") and offline == [*online, "--offline"]
    assert "torch==2.13.0" in online and {"pip", "--compile-bytecode"} < {*online}
    assert state.load() == state.complete()
    packages.install(places.environment() / "log")
    assert len(ran) == 4 + 3 and ran[4] == offline  # uv is kept


@pytest.mark.parametrize("why", ["not to be had", "not wanted"])
def test_pip_installs_where_there_is_no_uv(
    ran: list[list[str]], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "not wanted":
        monkeypatch.setenv(packages.INSTALLER, "pip")
    FAILS.add(state.pinned("uv"))
    packages.install(places.environment() / "log")
    assert len(ran) == 2 + (why == "not to be had")
    assert ran[-2][1:4] == ["-m", "pip", "--no-input"] and "torch==2.13.0" in ran[-2]
    assert state.load() == state.complete()


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("--compile-bytecode", "The packages could not be installed:\nerror: No space left"),
        ("-c", "torch and TensorFlow do not load here:\nerror: "),
    ],
)
def test_what_fails_says_why_in_its_own_words(ran: list[list[str]], fails: str, said: str) -> None:
    FAILS.add(fails)
    if fails == "-c":
        FAILS.add(packages.CHECK)
        FAILS.remove("-c")
    with pytest.raises(SetupFailed) as failure:
        packages.install(places.environment() / "log")
    assert str(failure.value).startswith(said)
    assert state.load() == {"packages": None}


def test_pips_settings_are_uvs() -> None:
    listed = (
        ":env:.index-url='https://mine/simple'\nglobal.index-url='https://ours/simple'\n"
        "global.extra-index-url='\\nhttps://a\\nhttps://b'\ninstall.find-links='/w1 /w2'\n"
        "global.cert='/my certs.pem'\nlist.format='json'\n"
    )
    told = packages.as_uv_has_them(listed)
    told.pop("UV_SYSTEM_CERTS", None)
    assert told == {
        "UV_DEFAULT_INDEX": "https://mine/simple",
        "UV_INDEX": "https://a https://b",
        "UV_FIND_LINKS": "/w1,/w2",
        "SSL_CERT_FILE": "/my certs.pem",
    }


# ---- the door -----------------------------------------------------------------------------------


def test_help_and_doctor_need_no_set_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], no_signal: None
) -> None:
    monkeypatch.setattr(state, "installed", lambda: False)
    monkeypatch.setattr(steps, "ensure_packages", lambda: pytest.fail("set-up was started"))
    monkeypatch.setattr("helpers.course.doctor.show", lambda: 0)
    for arguments in ([], ["--help"], ["lab", "--help"], ["doctor"]):
        assert door.main(arguments) == 0
    assert "./course lab" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (SetupFailed("The disk is full; free 5 GB."), 1, "The disk is full; free 5 GB."),
        (PermissionError(13, "Permission denied", ".venv.lock"), 1, "cannot write: Permission"),
        (OSError(28, "No space left on device", "x"), 1, "cannot write: No space left on device"),
        (KeyboardInterrupt(), 130, "the same command goes on"),
    ],
)
def test_a_failed_set_up_is_one_message(
    error: BaseException, status: int, said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], no_signal: None,
) -> None:  # fmt: skip
    def fail() -> None:
        raise error

    monkeypatch.setattr(state, "installed", lambda: False)
    monkeypatch.setattr(steps, "ensure_packages", fail)
    assert door.main(["lab"]) == status
    told = capsys.readouterr().err.strip()
    assert said in told and len(told.splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "needed"),
    [("lab", []), ("bench", ["horovod"]), ("grade", ["horovod", "grade"]),
     ("test", ["horovod", "test"])],
)  # fmt: skip
def test_a_command_waits_for_what_it_needs_alone(
    command: str, needed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ensured: list[str] = []
    monkeypatch.setattr(state, "horovod_settled", lambda: False)
    monkeypatch.setattr(horovod, "ensure", lambda: ensured.append("horovod"))
    monkeypatch.setattr(system, "obtain_for", ensured.append)
    steps.ensure_rest(command)
    assert ensured == needed


# ---- a home folder that cannot be written to ----------------------------------------------------


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which nothing can be made: below a file, which holds for root too."""
    for name in homes.NAMES:
        # Set first, so that what is set below is taken back after the test.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))
    return tmp_path / "file" / "home"


def test_a_read_only_home_has_a_place_in_the_cache(
    read_only: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    monkeypatch.setenv("IPYTHONDIR", "/named/by/the/user")
    homes.settle(needed=True)
    assert os.environ["IPYTHONDIR"] == "/named/by/the/user"
    for name in {*homes.NAMES} - {"IPYTHONDIR"}:
        folder = Path(os.environ[name])
        assert folder.is_dir() and tmp_path / "cache" in folder.parents


def test_nowhere_to_write_is_one_sentence_for_who_needs_it(
    read_only: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "cache", lambda: read_only / "cache")
    homes.settle(needed=False)
    with pytest.raises(SetupFailed, match="XDG_CACHE_HOME="):
        homes.settle(needed=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    homes.settle(needed=True)
    assert not any(name in os.environ for name in homes.NAMES)
