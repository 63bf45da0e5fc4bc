"""How long processes have been at it, as seen from outside: computing, or asleep.

Computing is what the processor's own clock says of them and of what they started. They are asleep
while every thread of theirs waits for something that nobody does: a timer, each other, an input. A
thread that would run if it had a processor, or its disk, is neither, and so a machine that is busy,
slow or stopped takes nothing of anybody's time.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

import psutil

LOOK_SECONDS = 0.1  # between two looks, where nobody wants one sooner
_SHARE = 20  # looking at thousands of threads takes at most one part in so many
PATIENCE = 40.0  # so many times a limit, on the wall's clock; what reaches it says nothing
_TICKS = os.sysconf("SC_CLK_TCK")
_GRAIN = 2 / _TICKS  # seconds of computing that can be told from none
_THERE = os.path.exists("/proc/self/task")
_KNOWS_CHILDREN = os.path.exists("/proc/thread-self/children")
_STOPPED = "Tt"  # or traced: these may be let go on by others
_ASLEEP = f"SIZX{_STOPPED}"  # sleeping, idle, ended; not running, and not waiting for a disk
_CORES = os.cpu_count() or 1
_TRIES = 3  # where processes end faster than that, none of them has computed for long
_MOST_OF_IT = 90.0  # per cent of a machine that is busy


class Late(TimeoutError):
    """It has taken its time. how: what it did meanwhile, "computed for 10 s"."""

    def __init__(self, how: str = "") -> None:
        super().__init__(how)
        self.how = how


class Undecided(Late):
    """The wall's clock has ended it, which says nothing of it: the machine was too busy to tell."""


class Seen(NamedTuple):
    """One look. computed: seconds, of all. asleep: whether all are; None where it is not known.

    whole: whether none ended meanwhile. Whose end falls between its parent and itself is in neither
    count, and all that it has computed would come back in the next look, as if it were new.
    awake: how many threads want a processor, or a disk. stopped: whether any thread is.
    """

    computed: float
    asleep: bool | None
    whole: bool = True
    awake: int = 1
    stopped: bool = False


class OwnTime:
    """The seconds that some processes have taken, as far as was looked.

    processes: says which they are, at each look. but: a thread that does not count, by its number
    in the system: that of who looks at its own process. computed: of all together, also of those
    that have ended and were waited for. slept: while somebody looked. taken: seconds of the wall's
    clock, without those in which they wanted a processor and had none, so that what is only slow is
    not taken for what hangs; what they keep from each other counts. still: for how many looks in a
    row all of them have been asleep, and none of them stopped.
    """

    def __init__(self, processes: Callable[[], Iterable[int]], but: int = 0) -> None:
        self._processes, self._but = processes, but
        self.computed = self.slept = self.taken = 0.0
        self.still = 0
        if not _THERE:
            _idle_machine()  # from now on it tells of the time since
        self._last = self._look().computed
        self._at, self._every = time.monotonic(), LOOK_SECONDS

    @property
    def looked(self) -> float:
        """When the last look was, on time.monotonic()."""
        return self._at

    def look_if_due(self, waited: float = math.inf) -> OwnTime:
        """Look, unless somebody has just done so."""
        if time.monotonic() - self._at >= self._every:
            self.look(waited)
        return self

    def look(self, waited: float = math.inf) -> None:
        """Look once more. A look that comes late counts no more sleep than one that is in time.

        waited: the seconds since the last look in which somebody waited for these processes: where
        they slept in others, it was they who waited.
        """
        now, begun = time.monotonic(), time.perf_counter()
        seen, gap, self._at = self._look(), now - self._at, now
        # Of what was never waited for, the end takes its seconds away with it.
        computed = max(seen.computed - self._last, 0.0)
        asleep = seen.asleep
        if asleep is None:
            asleep = computed == 0.0 and _idle_machine()
        # Two that wake each other may both be seen asleep, one after the other.
        asleep = asleep and computed <= max(gap / 2, _GRAIN)
        self.still = self.still + 1 if asleep and not seen.stopped else 0
        counted = min(gap, 2 * self._every)
        self.slept += min(counted, waited) if asleep else 0.0
        # They may have a core each, as long as there are so many: what is less, others have.
        cores = max(min(seen.awake, _CORES), 1)
        self.taken += counted if asleep else min(counted, computed / cores)
        self.computed += computed
        self._last = seen.computed
        self._every = max(LOOK_SECONDS, _SHARE * (time.perf_counter() - begun))

    def _look(self) -> Seen:
        but = {self._but, *_lookers} if self._but else set()
        for _ in range(_TRIES):
            pids = list(self._processes())
            seen = _linux(pids, but) if _THERE else _elsewhere(pids)
            if seen.whole:
                break
        return seen


# The threads of this process that only wait and look, as often as they do: two that look at each
# other would both be taken for awake, the more so the longer they wait for a processor to look.
_lookers: Counter[int] = Counter()


def of_others_here() -> OwnTime:
    """The time of this process and of all that it has started, but for the thread that asks.

    As long as the answer is held that thread counts as asleep to others: it does nothing but look.
    """
    pid, thread = os.getpid(), threading.get_native_id()
    own = OwnTime(lambda: descendants(pid), thread)
    _lookers[thread] += 1
    weakref.finalize(own, _looks_no_more, thread)
    return own


def _looks_no_more(thread: int) -> None:
    _lookers[thread] -= 1
    if not _lookers[thread]:
        del _lookers[thread]


def descendants(pid: int) -> list[int]:
    """A process and all that it has started, itself first; [] where it is gone."""
    if not _KNOWS_CHILDREN:
        return _found_slowly(pid)
    found, todo = [], [pid]
    while todo:
        one = todo.pop(0)
        with contextlib.suppress(OSError):
            todo += sorted(_children(one))
            found.append(one)
    return found


def _children(pid: int) -> set[int]:
    """What a process has started. Raises OSError where it is gone.

    Who misses one for a look counts all of its time once more in the next. The children of a thread
    that ends meanwhile become another's, which may have been read already: so they are read again.
    """
    found: set[int] = set()
    for _ in range(_TRIES):
        all_there = True
        for thread in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    found.update(map(int, file.read().split()))
            except OSError:
                all_there = False
        if all_there:
            break
    return found


def _found_slowly(pid: int) -> list[int]:
    """The same where the kernel keeps no lists of children."""
    try:
        top = psutil.Process(pid)
        return [pid, *(child.pid for child in top.children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


class Limit:
    """How long something may go on: so many seconds of computing, and as many asleep.

    seconds: of either. `check` raises Late where they are over, and Undecided where it had PATIENCE
    times as long and has neither computed nor slept that much.
    """

    def __init__(self, own: OwnTime, seconds: float) -> None:
        self.own, self.seconds = own, seconds
        self._computed, self._slept = own.computed, own.slept
        self._end = time.monotonic() + PATIENCE * max(seconds, 1.0)

    @property
    def taken(self) -> float:
        """Seconds that are used up, as far as was looked."""
        return max(self.own.computed - self._computed, self.own.slept - self._slept)

    def look(self) -> float:
        """The same, as of now."""
        self.own.look()
        return self.taken

    def check(self, waited: float = math.inf) -> None:
        """Look, unless somebody has just done so. Raises Late or Undecided.

        waited: as `OwnTime.look` has it.
        """
        self.own.look_if_due(waited)
        if self.own.computed - self._computed >= self.seconds:
            raise Late(f"computed for {self.seconds:.3g} s")
        if self.own.slept - self._slept >= self.seconds:
            raise Late(f"slept, or waited, for {self.seconds:.3g} s")
        if time.monotonic() >= self._end:
            raise Undecided


def _linux(pids: Iterable[int], but: Container[int]) -> Seen:
    """What the kernel says of processes and all their threads, without those in `but`.

    Where there is no process, none sleeps.
    """
    ticks, there, gone, states = 0, 0, 0, list[str]()
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                ticks += sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
            there += 1
            threads = (each for each in os.listdir(f"/proc/{pid}/task") if int(each) not in but)
            states += [_state(f"/proc/{pid}/task/{each}/stat") for each in threads]
        except (OSError, IndexError, ValueError):
            gone += 1
    awake = sum(state not in _ASLEEP for state in states)
    stopped = any(state in _STOPPED for state in states)
    return Seen(ticks / _TICKS, not awake and there > 0, not gone, awake, stopped)


def _state(path: str) -> str:
    """One letter; "Z" for what has ended meanwhile."""
    try:
        with open(path, "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return "Z"


def _elsewhere(pids: Iterable[int]) -> Seen:
    """The same where there is no /proc: who sleeps cannot be told from who waits for its turn."""
    seconds = 0.0
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            seconds += sum(psutil.Process(pid).cpu_times()[:2])
    return Seen(seconds, None)


def _idle_machine() -> bool:
    """Whether whoever wants a processor has one: since the last time that this was asked."""
    return psutil.cpu_percent() < _MOST_OF_IT
