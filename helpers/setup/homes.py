"""A place for settings and histories where the home folder cannot be written to.

Jupyter, IPython, matplotlib and Keras keep theirs in the home folder, and Jupyter does not start
without. On a machine with a home that is read-only they get folders in the course's cache instead.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from helpers.setup import places
from helpers.setup.errors import SetupFailed


def settle(needed: bool) -> None:
    """Name folders in the cache for what would go into a home that cannot be written to.

    What the user named stays. Raises SetupFailed where the cache cannot be written to either,
    if that is `needed`.
    """
    lacking = {
        name: folder
        for name, folder in _usual().items()
        if name not in os.environ and not writable(folder)
    }
    if not lacking:
        return
    instead = places.cache() / "home"
    if not writable(instead):
        if needed:
            raise SetupFailed(
                f"Neither the home folder nor {places.cache()} can be written to, and JupyterLab "
                "keeps its settings there; name a folder of yours with XDG_CACHE_HOME=… in front "
                "of the command."
            )
        return
    for name in lacking:
        folder = instead / name.lower()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.environ[name] = str(folder)
    # What the user keeps in the read-only home is still read.
    for name, path in (
        ("JUPYTER_CONFIG_DIR", "JUPYTER_CONFIG_PATH"),
        ("JUPYTER_DATA_DIR", "JUPYTER_PATH"),
    ):
        if name in lacking and lacking[name].is_dir():
            others = os.environ.get(path)
            os.environ[path] = os.pathsep.join([*([others] if others else []), str(lacking[name])])


def _usual() -> dict[str, Path]:
    """Where each of them writes, by the variable that names another place."""
    home = Path(os.path.expanduser("~"))
    mac = sys.platform == "darwin"
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "jupyter"
    data = home / "Library" / "Jupyter" if mac else data
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return {
        "JUPYTER_CONFIG_DIR": home / ".jupyter",
        "JUPYTER_DATA_DIR": data,
        "JUPYTER_RUNTIME_DIR": Path(os.environ.get("JUPYTER_DATA_DIR", data)) / "runtime",
        "IPYTHONDIR": home / ".ipython",
        "MPLCONFIGDIR": home / ".matplotlib" if mac else settings / "matplotlib",
        "KERAS_HOME": home / ".keras",
    }


def writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or in what would hold it; tried, and nothing stays.

    Permissions alone do not tell: root has all of them on a read-only disk too.
    """
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
