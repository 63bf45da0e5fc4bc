"""Where there is no sandbox: the same zygote as an ordinary process, in a folder of its own.

This protects from accidents, not from intent; it is for those who say so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from helpers.instructor.sandbox.command import ENVIRONMENT

_KEPT = ("PATH", "LD_LIBRARY_PATH")


def bare(folder: str, files: Mapping[str, bytes]) -> tuple[dict[str, str], str]:
    """Put the course's files into a folder; returns the environment, and the folder to work in."""
    scratch = Path(folder, "scratch")
    scratch.mkdir()
    for path, content in files.items():
        place = Path(folder, "course", path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    environment = ENVIRONMENT | {k: v for k, v in os.environ.items() if k in _KEPT}
    environment |= {"HOME": str(scratch), "TMPDIR": str(scratch)}
    return {**environment, "PYTHONPATH": str(Path(folder, "course"))}, str(scratch)
