"""A place for settings and histories where the home folder cannot be written to.

Jupyter, IPython, matplotlib and Keras keep theirs in the home folder, and Jupyter does not start
without. On a machine with a home that is read-only they get folders in the course's cache instead.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from helpers.course.setup import places
from helpers.course.setup.progress import SetupFailed

NAMES = (
    *("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"),
    *("IPYTHONDIR", "MPLCONFIGDIR", "KERAS_HOME"),
)


def settle(needed: bool) -> None:
    """Name folders in the cache for what would go into a home that cannot be written to.

    What the user named stays. Raises SetupFailed where the cache cannot be written to either,
    if that is `needed`.
    """
    if writable(Path(os.path.expanduser("~"))):
        return
    instead = places.cache() / "home"
    if writable(instead):
        for name in set(NAMES) - set(os.environ):
            (instead / name.lower()).mkdir(mode=0o700, parents=True, exist_ok=True)
            os.environ[name] = str(instead / name.lower())
    elif needed:
        raise SetupFailed(
            f"Neither the home folder nor {places.cache()} can be written to, and JupyterLab "
            "keeps its settings there; name a folder of yours with XDG_CACHE_HOME=… in front "
            "of the command."
        )


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
