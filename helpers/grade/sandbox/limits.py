"""Whose a sandbox is, how much a submission may use, and a look now and then at what it takes.

The kernel limits one process. What all of a sandbox's processes take together, or hold in shared
memory, only somebody outside can add up; where it is too much, the sandbox is ended.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from helpers.engine.own_time import descendants
from helpers.grade.grades import Mode

if TYPE_CHECKING:
    from helpers.grade.sandbox.sandbox import Sandbox

_MIB = 2**20
# From Linux 5.14 on, processes are counted by user namespace; before, by user.
_COUNTED_BY_NAMESPACE = (5, 14)
_ROOM = 1024


@dataclass(frozen=True)
class Limits:
    """Of one sandbox; sizes in bytes.

    processes: with their threads, at one time. memory: of one process, and of all together.
    tmp, shm: of /tmp and of /dev/shm. names: files and folders in both. sockets: each
    can hold a fifth of a MiB that no process has. file: of one file. cpu: seconds of one process.
    open_files: of one process.
    """

    processes: int = 64
    memory: int = 2048 * _MIB
    tmp: int = 64 * _MIB
    shm: int = 256 * _MIB
    names: int = 20_000
    sockets: int = 1000
    file: int = 64 * _MIB
    cpu: int = 120
    open_files: int = 256

    def of_process(self, uid: int, counted_alone: bool) -> dict[str, int]:
        """The resource limits of a child whose user is `uid` outside, by their names in Python.

        counted_alone: whether the kernel counts the sandbox's processes, and not all of that user.
        """
        return {
            "RLIMIT_NPROC": self.processes + (0 if counted_alone else _others(uid)),
            "RLIMIT_DATA": self.memory,
            "RLIMIT_AS": 2 * self.memory,  # shared memory of no file counts nowhere else
            "RLIMIT_FSIZE": self.file,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_CORE": 0,
            "RLIMIT_CPU": self.cpu,
            "RLIMIT_MSGQUEUE": 0,
            "RLIMIT_RTPRIO": 0,
            "RLIMIT_NICE": 0,
            "RLIMIT_MEMLOCK": 8 * _MIB,
        }


LIMITS = Limits()


def counted_by_namespace() -> bool:
    """Whether this kernel counts processes by user namespace, so that a sandbox is on its own."""
    version = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    return version >= _COUNTED_BY_NAMESPACE


def _others(uid: int) -> int:
    """The user's processes and threads that count beside the sandbox's, and room for more."""
    count = _ROOM
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == uid:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:  # it has ended meanwhile
            continue
    return count


def stay_on_one(number: int) -> None:
    """Keep this process, a slot of that number, and its sandboxes on one core. On Linux.

    One of a submission's ranks runs at a time. On one core, handing on from rank to judge to rank
    takes a quarter less of a processor's time than across cores.
    """
    if sys.platform == "linux":
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})


FIRST_UID = 61000  # where root grades, sandbox number n is user 61000 + n


def user_of(number: int, mode: Mode) -> int:
    """The user of a sandbox: where root grades one of its own, otherwise whoever grades."""
    own = os.getuid()
    return FIRST_UID + number if own == 0 and mode == "bubblewrap" else own


_LOOK_SECONDS = 0.05
_FAR = 2  # limits
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Looks at the sandboxes that have a child, in a thread of its own."""

    def __init__(self) -> None:
        self._sandboxes: set[Sandbox] = set()
        self._changed = threading.Condition()
        self._owner = 0

    def add(self, sandbox: Sandbox) -> None:
        """Look at this sandbox from now on."""
        with self._changed:
            self._sandboxes.add(sandbox)
            self._changed.notify()
            if self._owner != os.getpid():
                self._owner = os.getpid()
                threading.Thread(target=self._work, name="memory watch", daemon=True).start()

    def remove(self, sandbox: Sandbox) -> None:
        """Look at this sandbox no longer."""
        with self._changed:
            self._sandboxes.discard(sandbox)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._sandboxes:
                    self._changed.wait()
                for sandbox in list(self._sandboxes):
                    self._look(sandbox)
            time.sleep(_LOOK_SECONDS)

    def _look(self, sandbox: Sandbox) -> None:
        """End a sandbox that takes too much. It cannot be stopped or started meanwhile."""
        pids, limits = inside(sandbox), sandbox.limits
        first = pids[0] if pids and sandbox.mode != "none" else 0
        if too_much_memory(pids, limits.memory):
            sandbox.overdone("too much memory")
        elif first and names_in_scratch(first) > limits.names:
            sandbox.overdone("too many files")
        elif first and sockets_of(first) > limits.sockets:
            sandbox.overdone("too many sockets")


WATCH = Watch()


def inside(sandbox: Sandbox) -> list[int]:
    """The processes of a sandbox, by their numbers outside, the zygote first."""
    pids = descendants(sandbox.pid) if sandbox.pid is not None else []
    return pids[1:] if sandbox.mode == "bubblewrap" else pids


def too_much_memory(pids: list[int], limit: int) -> bool:
    """Whether processes take more bytes than this together, shared pages counted once.

    That is slow to ask; each one's own pages with all that it shares are quick, and never less.
    Where those are far more, many processes may be at it: they stand still while they are counted,
    for they would take more meanwhile, and the time that counting needs.
    """
    at_most = sum(map(_resident, pids))
    if at_most <= limit:
        return False
    stopped = pids[1:] if at_most > _FAR * limit else []
    _send(stopped, signal.SIGSTOP)
    over = sum(map(_share, pids)) > limit
    if not over:
        _send(stopped, signal.SIGCONT)
    return over


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE
    return 0


def _share(pid: int) -> int:
    """A process's part of the memory that it is in (Linux's proportional set size), bytes."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", "rb") as file:
        for line in file:
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def sockets_of(pid: int) -> int:
    """How many sockets there are in the network of a process.

    What waits in them to be read is memory that counts for no process.
    """
    with contextlib.suppress(OSError), open(f"/proc/{pid}/net/sockstat", "rb") as file:
        return int(file.readline().split()[-1])
    return 0


def names_in_scratch(pid: int) -> int:
    """How many files and folders there are in the scratch folders of a process."""
    count = 0
    for folder in ("tmp", "dev/shm"):
        with contextlib.suppress(OSError):
            state = os.statvfs(f"/proc/{pid}/root/{folder}")
            count += state.f_files - state.f_ffree
    return count


_ROUNDS = 1000


def kill_sandbox(pid: int) -> None:
    """Kill process 1 of a sandbox: everything in it ends with it, and then what waits for it.

    pid: the process outside that was started.
    """
    found = descendants(pid)
    _kill(found[1] if len(found) > 1 else pid)


def kill_tree(pid: int) -> None:
    """Kill a process and all below it, also what they start meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)  # it adopts what loses its parent, and forks no more
    for _ in range(_ROUNDS):
        alive = [other for other in descendants(pid)[1:] if not _is_over(other)]
        if not alive:
            break
        for other in alive:
            _kill(other)
    _kill(pid)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _is_over(pid: int) -> bool:
    """Whether a process has ended and only waits for its parent to notice."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return not psutil.pid_exists(pid)
