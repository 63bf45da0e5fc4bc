"""How long a run is waited for, and whether those who all wait do so for good.

A wall clock alone tells neither: who was woken on a busy machine may not have run for a second, and
on one that was stopped nothing moves for a minute. So processes are looked at, which say whether
they could run, and wanted to.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import psutil

from helpers.engine.board import Board

LOOK_SECONDS = 0.1
_SHARE = 20  # looking at thousands of threads takes at most one part in so many
_CORES = os.cpu_count() or 1
_LATE = 1.0  # seconds later than a look is due: who looks so late was held up himself, or stopped
STILL_SECONDS = 1.0
LATE_SECONDS = 0.5  # between two looks: who looks so late was held up, and the others perhaps too
# Running or waiting for a processor, for a disk, stopped, traced: all may go on by themselves.
_CAN_GO_ON = "RDTt"
_DEADLOCK_SECONDS = 0.2


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


class Run(Protocol):
    """What is looked at of a run on this machine. pids: of its ranks."""

    board: Board
    pids: list[int]

    def unfinished(self) -> list[int]:
        """The ranks that have not answered yet."""


class Watch:
    """Finds a deadlock: every rank waits, and for a second nothing has moved, no processor either.

    A message that has been sent wakes its receiver at once, so ranks that all wait, with no
    processor time used, none asked for and nothing on a link between hosts, wait for ever.
    """

    def __init__(self, run: Run, found: Callable[[], Exception]) -> None:
        self._run, self._found = run, found
        self._still = Stillness(self._stuck, lambda: [run.pids[rank] for rank in run.unfinished()])
        self._next = time.monotonic()

    def look(self) -> None:
        """Raise Deadlock where there is one."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _DEADLOCK_SECONDS
            if self._still.for_good():
                raise self._found()

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
