"""How many descriptors this process holds open."""

from __future__ import annotations

import functools
import gc
import os


@functools.cache
def _leave_alone() -> None:
    """Spare the collector what is there by now, which in a long run of tests takes it a second."""
    gc.collect()
    gc.freeze()


def open_descriptors() -> int:
    """Their number now, once what was dropped is closed; 0 where the system does not say."""
    _leave_alone()
    gc.collect()
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
