"""Kernels that tests start get ports that no other process is dealt meanwhile.

jupyter_client asks the system for ports that are free, lets go of them and names them to a kernel,
which takes them seconds later; where a rank or another worker's kernel was dealt one in between,
the kernel dies as it starts. Here each worker of pytest has ports of its own, below all that Linux
deals out and those that `place.step_port` works out.

A plugin for a pytest of its own, too: `-p kernel_ports`. A JupyterLab that a test starts takes its
kernels' ports from a part that is kept for it, once `of_a_server` has written that into its home.
"""

from __future__ import annotations

import itertools
import os
import socket
from pathlib import Path
from typing import Any

FIRST, EACH, MOST = 5_000, 600, 16
KEPT = 200  # of each, for a server


def pytest_configure() -> None:
    """Let jupyter_client take its ports from here."""
    from jupyter_client.connect import LocalPortCache

    LocalPortCache.find_available_port = _of_the_cache


def of_a_server(home: Path) -> None:
    """Have a Jupyter server whose home folder this is take its ports from those kept for it."""
    (home / ".jupyter").mkdir()
    (home / ".jupyter" / "jupyter_server_config.py").write_text(
        f"import sys\nsys.path.append({str(Path(__file__).parent)!r})\n"
        "import kernel_ports\nkernel_ports.serve()\n",
        encoding="utf-8",
    )


def serve() -> None:
    """Be such a server."""
    global _ports
    _ports = itertools.cycle(range(_start + EACH - KEPT, _start + EACH))
    pytest_configure()


def _of_the_cache(cache: Any, ip: str) -> int:
    return free_port(ip)


def free_port(ip: str = "127.0.0.1") -> int:
    """A port of this worker's own that nobody has now; the next call gives another."""
    for port in itertools.islice(_ports, EACH):
        with socket.socket() as probe:
            try:
                probe.bind((ip, port))
            except OSError:
                continue
            return port
    raise OSError(f"All {EACH} ports of this worker, from {_start} on, are taken.")


_worker = int(os.environ.get("PYTEST_XDIST_WORKER", f"gw{MOST - 1}").removeprefix("gw"))
_start = FIRST + EACH * (_worker % MOST)
_ports = itertools.cycle(range(_start, _start + EACH - KEPT))
