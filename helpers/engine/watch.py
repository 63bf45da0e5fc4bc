"""A look now and then at ranks that make no progress: do they wait for each other?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import psutil

from helpers.engine import report
from helpers.engine.stillness import Stillness

if TYPE_CHECKING:
    from helpers.engine.processes import LocalRun

_LOOK_SECONDS = 0.2


class Watch:
    """Finds a deadlock: every rank waits, and for a second nothing has moved, no processor either.

    A message that has been sent wakes its receiver at once, so ranks that all wait, with no
    processor time used, none asked for and nothing on a link between hosts, wait for ever.
    """

    def __init__(self, run: LocalRun) -> None:
        self._run = run
        self._still = Stillness(self._stuck, lambda: [run.pids[rank] for rank in run.unfinished()])
        self._next = time.monotonic()

    def look(self) -> None:
        """Raise Deadlock where there is one."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _LOOK_SECONDS
            if self._still.for_good():
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
