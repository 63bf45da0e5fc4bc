"""A look now and then at ranks that make no progress: do they wait for each other?"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from helpers.engines import report

if TYPE_CHECKING:
    from helpers.engines.processes import LocalRun

_STILL_SECONDS = 1.0
_LOOK_SECONDS = 0.2
_LATE_SECONDS = 0.5  # who looks so late was held up, and the ranks perhaps too


class Watch:
    """Finds a deadlock: every rank waits, and for a second nothing has moved, no processor either.

    A message that has been sent wakes its receiver at once, so ranks that all wait, with no
    processor time used, none asked for and nothing on a link between hosts, wait for ever.
    """

    def __init__(self, run: LocalRun) -> None:
        self._run = run
        self._seen: Any = None
        self._since = self._next = time.monotonic()

    def look(self) -> None:
        """Raise Deadlock where there is one."""
        now = time.monotonic()
        if now < self._next:
            return
        late, self._next = now - self._next > _LATE_SECONDS, now + _LOOK_SECONDS
        seen = self._stuck()
        if seen is None or seen != self._seen or late:
            self._seen, self._since = seen, now
        elif now - self._since >= _STILL_SECONDS:
            if any(wants_processor(self._run.pids[rank]) for rank, *_ in seen):
                self._since = now
            else:
                raise report.deadlocked(self._run)

    def _stuck(self) -> Any:
        """What every unfinished rank waits for, and its processor time.

        None where one computes or a message is on its way.
        """
        if self._run.board.travelling():
            return None
        seen = []
        for rank in self._run.unfinished():
            main, background = (self._run.board.read(rank, lane) for lane in (0, 1))
            if not main.waits or background.doing == "computing":
                return None
            try:
                process = psutil.Process(self._run.pids[rank])
                seen.append((rank, main, background, process.cpu_times()[:2]))
            except psutil.NoSuchProcess:
                return None
        return seen


def wants_processor(pid: int) -> bool:
    """Whether a thread of a process computes, or would if it had a processor or its disk.

    A rank that was woken on a busy machine may not have run for a second. False where the system
    does not tell.
    """
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # a thread that has ended
            if stat.read_text().rpartition(")")[2].split()[0] in ("R", "D"):
                return True
    return False
