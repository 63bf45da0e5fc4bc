"""How ranks are started on this machine: forked, or each in a Python of its own."""

from __future__ import annotations

import os

START = "COURSE_START"  # "spawn": as on a system without fork


def forks() -> bool:
    """Whether ranks are forked here."""
    return hasattr(os, "fork") and os.environ.get(START) != "spawn"
