"""What this machine, or the container that we are in, lets a process use."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def usable_cores() -> float:
    """Cores that this process may use: its affinity, and a container's quota (cgroup 2)."""
    if hasattr(os, "sched_getaffinity"):
        cores = float(len(os.sched_getaffinity(0)))
    else:
        cores = float(os.cpu_count() or 1)
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            cores = min(cores, int(quota) / int(period))
    except (OSError, ValueError):
        pass
    return cores


def usable_memory() -> int | None:
    """Bytes of memory that this machine, or this container, has; None where nothing tells."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        return min(memory, int(limit)) if limit != "max" else memory
    except (OSError, ValueError):
        return memory


def without_name() -> str:
    """Why what asks for this machine by its name would not come up; "" where the name leads here.

    Horovod's ranks would die by signal 11 (its process sets' connections take no interface), and
    SLURM's controller would not start.
    """
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return (
            f"This machine's own name, {name}, leads to no address. Add a line "
            f"`127.0.1.1 {name}` to /etc/hosts."
        )
    return ""
