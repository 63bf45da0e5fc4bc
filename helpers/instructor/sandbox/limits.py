"""How much a submission may use."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

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
