"""A home folder that cannot be written to is no obstacle, where the cache can be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.setup import homes, places
from helpers.setup.errors import SetupFailed

NAMES = tuple(homes._usual())


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An account where nothing is named, and whose cache is a folder of its own; returns that."""
    for name in (*NAMES, "JUPYTER_PATH", "JUPYTER_CONFIG_PATH", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        # Set first, so that what is set below is taken back after the test.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def read_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which nothing can be made: below a file, which holds for root too."""
    (folder / "file").write_text("")
    home = folder / "file" / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home


def test_a_home_of_ones_own_is_used(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    homes.settle(needed=True)
    assert not any(name in os.environ for name in NAMES)
    assert not bare.exists() and not (tmp_path / "home").exists()


def test_a_read_only_home_has_a_place_in_the_cache(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_only(tmp_path, monkeypatch)
    monkeypatch.setenv("IPYTHONDIR", "/named/by/the/user")
    homes.settle(needed=True)
    assert os.environ["IPYTHONDIR"] == "/named/by/the/user"
    for name in set(NAMES) - {"IPYTHONDIR"}:
        folder = Path(os.environ[name])
        assert folder.is_dir() and bare in folder.parents
    from jupyter_core import paths

    for place in (paths.jupyter_config_dir, paths.jupyter_data_dir, paths.jupyter_runtime_dir):
        assert bare in Path(place()).parents


def test_nowhere_to_write_is_one_sentence_for_who_needs_it(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = read_only(tmp_path, monkeypatch)
    monkeypatch.setattr(places, "cache", lambda: home / "cache")
    homes.settle(needed=False)
    assert not any(name in os.environ for name in NAMES)
    with pytest.raises(SetupFailed, match="XDG_CACHE_HOME="):
        homes.settle(needed=True)
