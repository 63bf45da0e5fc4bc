"""Memory in huge pages where Linux can: a fork then copies a tenth of the page tables."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator

_HUGE = 2 * 2**20
_PART = 8  # huge pages at a time
_MADV_COLLAPSE = 25  # Linux 6.1
# Private memory of no file, and the heap.
_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0\s*(?:\[heap\])?")


def by_parts() -> Iterator[int]:
    """Put this process's own memory into huge pages, some MiB at a time.

    Gives how many huge pages each part has come to. A part that the kernel refuses stays as it was,
    as all of it does before Linux 6.1.
    """
    if sys.platform != "linux":
        return
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    try:
        with open("/proc/self/maps") as file:
            found = [_LINE.fullmatch(line.rstrip()) for line in file]
    except OSError:  # a container without it
        return
    for match in filter(None, found):
        start, end = (int(text, 16) for text in match.groups())
        first, last = -(-start // _HUGE), end // _HUGE  # only whole ones
        for part in range(first, last, _PART):
            count = min(_PART, last - part)
            done = madvise(part * _HUGE, count * _HUGE, _MADV_COLLAPSE) == 0
            yield count if done else 0
