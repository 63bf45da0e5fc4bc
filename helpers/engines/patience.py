"""How long a run is waited for: the time in which its processes could run, or did not want to."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable

LOOK_SECONDS = 0.1
_SHARE = 20  # looking at thousands of threads takes at most one part in so many
_LATE = 1.0  # seconds later than a look is due: who looks so late was held up himself, or stopped


class Patience:
    """So many seconds, without those in which some processes wanted a processor and had none.

    processes: says which they are, at each look. On a machine that has a core for each of them
    these are the wall clock's seconds; where it is busy with other things, or is stopped for a
    while, it waits longer, so that what is only slow is not taken for what hangs. Linux says how
    long a thread has waited for its turn; elsewhere nothing is left out but what is stopped.
    """

    def __init__(self, seconds: float, processes: Callable[[], Iterable[int]]) -> None:
        self._left, self._processes = seconds, processes
        self._waited = _waited(processes())
        self._at, self._every = time.monotonic(), LOOK_SECONDS

    @property
    def left(self) -> float:
        """The seconds that are left; 0 or less where it is over."""
        now = time.monotonic()
        if (gap := now - self._at) >= self._every:
            waited = _waited(self._processes())
            held = max((w - self._waited.get(t, 0.0) for t, w in waited.items()), default=0.0)
            self._left -= max(min(gap, self._every + _LATE) - held, 0.0)
            self._at, self._waited = now, waited
            self._every = max(LOOK_SECONDS, _SHARE * (time.monotonic() - now))
        return self._left


def _waited(pids: Iterable[int]) -> dict[str, float]:
    """For each thread of some processes, how many seconds it has waited for a processor so far."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with (
                    contextlib.suppress(OSError, IndexError, ValueError),
                    open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file,
                ):
                    found[thread] = int(file.read().split()[1]) / 1e9
    return found
