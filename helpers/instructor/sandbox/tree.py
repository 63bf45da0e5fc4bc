"""The end of a process and of all below it."""

from __future__ import annotations

import contextlib
import os
import signal

import psutil

from helpers.engine.own_time import descendants

_ROUNDS = 1000


def kill_sandbox(pid: int) -> None:
    """Kill process 1 of a sandbox: everything in it ends with it, and then what waits for it.

    pid: the process outside that was started.
    """
    found = descendants(pid)
    _kill(found[1] if len(found) > 1 else pid)


def kill_tree(pid: int) -> None:
    """Kill a process and all below it, also what they start meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)  # it adopts what loses its parent, and forks no more
    for _ in range(_ROUNDS):
        alive = [other for other in descendants(pid)[1:] if not _is_over(other)]
        if not alive:
            break
        for other in alive:
            _kill(other)
    _kill(pid)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _is_over(pid: int) -> bool:
    """Whether a process has ended and only waits for its parent to notice."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return not psutil.pid_exists(pid)
