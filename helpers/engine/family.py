"""Processes and what they have started: they end together, and nothing is left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

_PF_EXITING = 0x4  # set before a process's connections are closed
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def is_ending(pid: int) -> bool:
    """Whether a process is about to end, or has ended and nobody has waited for it yet."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0] in "ZX" or bool(int(fields[6]) & _PF_EXITING)
    except (OSError, IndexError):
        return False


def die_with_parent() -> None:
    """Ask Linux to kill this process when the one that has started it ends, however that ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of processes whose own parent has ended (Linux's child subreaper)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def end_descendants(children: Iterable[int] = ()) -> None:
    """Kill these children and every process they have started, and wait until all are gone."""
    children = list(children)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in children:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    # On Linux what they started is now our own child; elsewhere psutil still finds its children.
    while has_children():
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        time.sleep(0.001)


def has_children() -> bool:
    """Whether a child is alive; collects those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True
