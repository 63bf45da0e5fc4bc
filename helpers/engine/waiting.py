"""Whether ranks that all wait do so for good.

A wall clock alone does not tell: who was woken on a busy machine may not have run for a second, and
on one that was stopped nothing moves for a minute. So processes are looked at, which say whether
they could run, and wanted to.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from helpers.engine.own_time import OwnTime

if TYPE_CHECKING:
    from helpers.engine.processes import LocalRun

STILL_SECONDS = 1.0
LATE_SECONDS = 0.5  # between two looks: who looks so late was held up, and the others perhaps too
_EVERY = 0.2  # seconds between two looks


class Watch:
    """Finds a deadlock: every rank waits, and for a second nothing has moved, no processor either.

    A message that has been sent wakes its receiver at once, so ranks that all wait, with no
    processor time used, none asked for and nothing on a link between hosts, wait for ever.
    """

    def __init__(self, run: LocalRun, found: Callable[[], Exception]) -> None:
        self._run, self._found = run, found
        self._own = OwnTime(lambda: [run.pids[rank] for rank in run.unfinished()])
        self._seen: Any = None
        self._since = self._at = time.monotonic()

    def look(self) -> None:
        """Raise Deadlock where there is one. A look that comes late begins anew."""
        now = time.monotonic()
        if (gap := now - self._at) < _EVERY:
            return
        self._at = now
        self._own.look()
        # After the processes: who could go on until then has said so on the board.
        seen = self._stuck()
        if seen is None or seen != self._seen or gap > LATE_SECONDS or not self._own.still:
            self._seen, self._since = seen, now
        elif now - self._since >= STILL_SECONDS:
            raise self._found()

    def _stuck(self) -> Any:
        """What every unfinished rank waits for, and the processor time of all.

        None where one computes or a message is on its way.
        """
        board, ranks = self._run.board, self._run.unfinished()
        if board.travelling():
            return None
        lanes = [[board.read(rank, lane) for lane in (0, 1)] for rank in ranks]
        if any(not main.waits or beside.doing == "computing" for main, beside in lanes):
            return None
        return ranks, lanes, self._own.computed
