"""Whether those who all wait do so for good: nothing has moved for a while, and nobody can move.

A wall clock alone does not tell: who was woken on a busy machine may not have run for a second,
and on one that was stopped nothing moves for a minute.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

STILL_SECONDS = 1.0
LATE_SECONDS = 0.5  # between two looks: who looks so late was held up, and the others perhaps too
# Running or waiting for a processor, for a disk, stopped, traced: all may go on by themselves.
_CAN_GO_ON = "RDTt"
TELLS_ENDINGS = os.path.exists("/proc/self/stat")
_PF_EXITING = 0x4  # set before a process's connections are closed


class Stillness:
    """Looks again and again at what should move, several times a second.

    see: what is to be seen of it now, None where something moves. processes: whose these are.
    """

    def __init__(self, see: Callable[[], Any], processes: Callable[[], Iterable[int]]) -> None:
        self._see, self._processes = see, processes
        self._seen: Any = None
        self._since = self._at = time.monotonic()

    def for_good(self) -> bool:
        """Look once more: whether nothing moves any more. A look that comes late begins anew."""
        now, seen = time.monotonic(), self._see()
        late, self._at = now - self._at > LATE_SECONDS, now
        if seen is None or seen != self._seen or late:
            self._seen, self._since = seen, now
        elif now - self._since >= STILL_SECONDS:
            # Who could go on until a moment ago has done so, and this can be seen.
            if not any(map(can_go_on, self._processes())) and self._see() == seen:
                return True
            self._since = now
        return False


def can_go_on(pid: int) -> bool:
    """Whether a thread of a process computes, or would if it had a processor, a disk or leave to.

    False where the system does not tell.
    """
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError, IndexError):  # a thread that has ended
            if stat.read_text().rpartition(")")[2].split()[0] in _CAN_GO_ON:
                return True
    return False


def is_ending(pid: int) -> bool:
    """Whether a process is about to end, or has ended and nobody has waited for it yet."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0] in "ZX" or bool(int(fields[6]) & _PF_EXITING)
    except (OSError, IndexError):
        return False
