"""The memory behind `comm.shared`: lent by the judge, which looks at who writes where."""

from __future__ import annotations

import contextlib
import fcntl
import math
import mmap
import os
from typing import Any

import numpy as np
import torch

from helpers.instructor.judge.channel import Violation
from helpers.instructor.judge.messages import ITEMS, shape_of
from helpers.worker.encoding import MAX_BYTES

_LOOKED_AT = 2**20  # bytes; what is larger is lent, and not looked at


class Buffers:
    """Memory that the judge makes and the ranks of one run map.

    writes: for each rank, the elements that it changed in its turns, a turn being what it does
    between two of its requests; turns without a change are left out. An element counts through
    all ranks' buffers, one behind the other. Of the first buffers that are shared.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.writes: list[list[list[int]]] = [[] for _ in range(size)]
        self._made: dict[int, tuple[Any, int]] = {}
        self._seen: tuple[mmap.mmap, bytes, int] | None = None

    def share(self, comm: Any, shape: Any, dtype: Any) -> int:
        """One rank's call of shared(): the file descriptor for it, the same one for every rank.

        Raises ValueError where the ranks differ or the memory would be too large.
        """
        if type(dtype) is not str or dtype not in ITEMS:
            raise Violation("no type")
        kind, sizes = getattr(torch, dtype), shape_of(shape)
        nbytes = self.size * math.prod(sizes) * ITEMS[dtype]
        if nbytes + sum(os.fstat(fd).st_size for _, fd in self._made.values()) > MAX_BYTES:
            raise ValueError(f"Shared buffers of {nbytes:,} bytes are more than a grader lends.")
        whole_list = comm.shared(sizes, kind)  # the engine's own: it holds the meeting
        key = id(whole_list[0])
        if key not in self._made:
            fd = _memory(max(nbytes, 1))
            if not self._made and 0 < nbytes <= _LOOKED_AT:
                self._seen = mmap.mmap(fd, nbytes), bytes(nbytes), ITEMS[dtype]
            self._made[key] = whole_list, fd
        return self._made[key][1]

    def look(self, rank: int) -> None:
        """A rank's turn is over: what has changed, it has written, for no other rank moved."""
        if self._seen is None:
            return
        memory, before, item = self._seen
        now = memory[:]
        if now != before:
            pair = [np.frombuffer(held, np.uint8).reshape(-1, item) for held in (before, now)]
            changed = np.flatnonzero((pair[0] != pair[1]).any(axis=1))
            self.writes[rank].append([int(i) for i in changed])
            self._seen = memory, now, item

    def close(self) -> None:
        """Close the judge's end; the ranks keep what they have mapped."""
        if self._seen is not None:
            self._seen[0].close()
            self._seen = None
        for _, fd in self._made.values():
            os.close(fd)
        self._made.clear()


def _memory(nbytes: int) -> int:
    fd = os.memfd_create("shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, nbytes)
    with contextlib.suppress(OSError):  # without seals a rank could cut it under the others
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd
