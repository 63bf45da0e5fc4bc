"""A look now and then at how much memory a sandbox takes, with all its processes."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helpers.instructor.sandbox.sandbox import Sandbox

_LOOK_SECONDS = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Looks at the sandboxes that have a child, in a thread of its own."""

    def __init__(self) -> None:
        self._sandboxes: set[Sandbox] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._owner = 0

    def add(self, sandbox: Sandbox) -> None:
        """Look at this sandbox from now on."""
        with self._lock:
            self._sandboxes.add(sandbox)
            if self._thread is None or self._owner != os.getpid():
                self._owner = os.getpid()
                self._thread = threading.Thread(target=self._work, name="memory", daemon=True)
                self._thread.start()

    def remove(self, sandbox: Sandbox) -> None:
        """Look at this sandbox no longer."""
        with self._lock:
            self._sandboxes.discard(sandbox)

    def _work(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)


WATCH = Watch()


def descendants(pid: int) -> list[int]:
    """A process and all that it has started, itself first; [] where it is gone."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{thread}/children", "rb") as file:
                    todo += map(int, file.read().split())
            found.append(one)
    return found
