"""Paths as the user typed them: `./course` works in the project's folder, the user may not."""

from __future__ import annotations

import os
from pathlib import Path


def typed(path: str) -> Path:
    """A path relative to where `./course` was called (it leaves that in COURSE_FROM)."""
    return Path(os.environ.get("COURSE_FROM") or ".", path).absolute()
