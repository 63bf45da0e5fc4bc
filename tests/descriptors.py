"""How many descriptors this process holds open."""

from __future__ import annotations

import gc
import os


def open_descriptors() -> int:
    """Their number now, once what was dropped is closed; 0 where the system does not say."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
