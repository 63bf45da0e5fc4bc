"""Keep what a long-running server says out of the terminal, and in a file."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from helpers.setup import places


def log_for(name: str) -> Path:
    """An empty log among set-up's; in the temporary folder where the cache cannot be written to."""
    try:
        places.logs().mkdir(parents=True, exist_ok=True)
        log = places.logs() / f"{name}.log"
        log.unlink(missing_ok=True)
        log.touch(mode=0o600)
    except OSError:
        descriptor, path = tempfile.mkstemp(prefix=f"{places.NAME}-{name}-", suffix=".log")
        os.close(descriptor)
        log = Path(path)
    return log


@contextlib.contextmanager
def errors_go_to(log: Path) -> Iterator[None]:
    """Send standard error to `log`: native code's too, and that of processes started meanwhile."""
    sys.stderr.flush()
    terminal = os.dup(2)
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(file, 2)
    os.close(file)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
        os.close(terminal)
