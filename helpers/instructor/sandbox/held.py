"""What the processes of a sandbox hold, read from outside: nothing that they say counts.

Their memory is counted, and their random states are read out of it.

The kernel tells everybody a process's own memory and what it shares, each by itself. All processes
count, and so do the files in the scratch folders: what is kept in either is kept.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

from helpers.checks import random_states as states
from helpers.instructor.sandbox.watch import Watched, inside

_OWN = (b"RssAnon:", b"VmSwap:")
_SHARED = b"RssShmem:"


def held(sandbox: Watched, lent: int) -> int | None:
    """Bytes that a sandbox's processes hold, and its files; None where the system does not tell.

    lent: of memory that was given to them, which is not theirs.
    """
    if sys.platform != "linux":
        return None
    pids = inside(sandbox)
    own = shared = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status", "rb") as file:
            for line in file:
                if line.startswith(_OWN):
                    own += int(line.split()[1]) * 1024
                elif line.startswith(_SHARED):
                    shared += int(line.split()[1]) * 1024
    files = 0 if sandbox.mode == "none" else _in_files(pids[:1])
    return own + max(shared - lent, 0) + files


def random_states(sandbox: Watched, number: int) -> states.States | None:
    """The global random states of a process; None where its memory cannot be read.

    number: the process's inside the sandbox.
    """
    pid, where = _outside(sandbox, number), sandbox.random_places
    if pid is None or not where:
        return None
    try:
        return states.read(lambda at, length: _memory(pid, at, length), where)
    except OSError:
        return None


class _Piece(ctypes.Structure):
    _fields_ = [("begin", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def _memory(pid: int, at: int, length: int) -> bytes:
    """Bytes of a process's memory. Raises OSError where that is not allowed.

    A file of /proc would not do: of a process that others of its user may not look into, it is
    the system's, even where the kernel lets us read.
    """
    read = getattr(ctypes.CDLL(None, use_errno=True), "process_vm_readv", None)
    into = ctypes.create_string_buffer(length)
    there, here = _Piece(at, length), _Piece(ctypes.addressof(into), length)
    one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
    if read is None or length != read(pid, ctypes.byref(here), one, ctypes.byref(there), one, none):
        raise OSError(ctypes.get_errno(), f"The memory of process {pid} cannot be read.")
    return into.raw


def _outside(sandbox: Watched, number: int) -> int | None:
    """The number outside of a process that was forked for a submission."""
    for pid in inside(sandbox)[1:] if sys.platform == "linux" else []:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status", "rb") as file:
            of_pid = next((line for line in file if line.startswith(b"NSpid:")), b"0")
            if int(of_pid.split()[-1]) == number:
                return pid
    return None


def _in_files(pids: list[int]) -> int:
    """Bytes in the scratch folders of a sandbox's process, those without a name among them."""
    size = 0
    for pid in pids:
        for folder in ("tmp", "dev/shm"):
            with contextlib.suppress(OSError):
                state = os.statvfs(f"/proc/{pid}/root/{folder}")
                size += (state.f_blocks - state.f_bfree) * state.f_frsize
    return size
