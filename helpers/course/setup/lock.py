"""One process at a time: a lock that the system releases even when its holder is killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path, waiting: str = "") -> Iterator[None]:
    """Hold the lock file at `path`; where another process holds it, wait, and say `waiting` first.

    The file stays: removing it would let two processes lock two files of the same name.
    Where the disk has no `flock`, as some network disks, nothing is locked.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting:
                print(waiting, flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            pass
        yield
    finally:
        os.close(descriptor)
