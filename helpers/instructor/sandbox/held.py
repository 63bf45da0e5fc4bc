"""What the processes of a sandbox hold, read from outside: nothing that they say counts.

The kernel tells everybody a process's own memory and what it shares, each by itself. All processes
count, and so do the files in the scratch folders: what is kept in either is kept.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from helpers.instructor.sandbox.watch import inside

if TYPE_CHECKING:
    from helpers.instructor.sandbox.sandbox import Sandbox

_OWN = (b"RssAnon:", b"VmSwap:")
_SHARED = b"RssShmem:"


def held(sandbox: Sandbox, lent: int) -> int | None:
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


def _in_files(pids: list[int]) -> int:
    """Bytes in the scratch folders of a sandbox's process, those without a name among them."""
    size = 0
    for pid in pids:
        for folder in ("tmp", "dev/shm"):
            with contextlib.suppress(OSError):
                state = os.statvfs(f"/proc/{pid}/root/{folder}")
                size += (state.f_blocks - state.f_bfree) * state.f_frsize
    return size
