"""How long a run is waited for: the time in which its processes could run, or did not want to."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

LOOK_SECONDS = 0.1
_SHARE = 20  # looking at thousands of threads takes at most one part in so many
_CORES = os.cpu_count() or 1
_LATE = 1.0  # seconds later than a look is due: who looks so late was held up himself, or stopped


class Seen(NamedTuple):
    """A thread. ran, waited: seconds on a processor, and in the queue for one, so far.

    queues: whether it is in the queue now, or runs.
    """

    ran: float
    waited: float
    queues: bool


_NEW = Seen(0.0, 0.0, False)


class Patience:
    """So many seconds, without those in which some processes wanted a processor and had none.

    processes: says which they are, at each look. On a machine that has a core for each of them
    these are the wall clock's seconds; where it is busy with other things, or is stopped for a
    while, it waits longer, so that what is only slow is not taken for what hangs. What they keep
    from each other counts: of a machine that they have to themselves every second is theirs. Linux
    says how long a thread has waited for its turn; elsewhere nothing is left out but what is
    stopped.
    """

    def __init__(self, seconds: float, processes: Callable[[], Iterable[int]]) -> None:
        self._left, self._processes = seconds, processes
        self._seen = _threads(processes())
        self._at, self._every = time.monotonic(), LOOK_SECONDS

    @property
    def left(self) -> float:
        """The seconds that are left; 0 or less where it is over."""
        now = time.monotonic()
        if (gap := now - self._at) >= self._every:
            seen, before = _threads(self._processes()), self._seen
            gap = min(gap, self._every + _LATE)
            held = max((_held(before.get(t), each, gap) for t, each in seen.items()), default=0.0)
            ran = sum(each.ran - before.get(t, _NEW).ran for t, each in seen.items())
            self._left -= max(gap - held, min(ran / _CORES, gap))
            self._at, self._seen = now, seen
            self._every = max(LOOK_SECONDS, _SHARE * (time.monotonic() - now))
        return self._left


def _held(before: Seen | None, now: Seen, gap: float) -> float:
    """For how many of the last seconds a thread was without a processor that it wanted.

    The system adds up what a thread has waited once its turn has come.
    """
    if now == before and now.queues:
        return gap
    return min(now.waited - (before or _NEW).waited, gap)


def _threads(pids: Iterable[int]) -> dict[str, Seen]:
    """The threads of some processes, by number."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError, IndexError, ValueError):
                    found[thread] = _thread(f"/proc/{pid}/task/{thread}")
    return found


def _thread(folder: str) -> Seen:
    with open(f"{folder}/schedstat", "rb") as file:
        ran, waited = (int(word) / 1e9 for word in file.read().split()[:2])
    with open(f"{folder}/stat", "rb") as file:
        state = file.read().rpartition(b")")[2].split()[0]
    return Seen(ran, waited, state == b"R")
