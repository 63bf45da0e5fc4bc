"""Ranks in Pythons of their own, where they cannot be forked: each loads the framework itself.

That takes seconds a run instead of a tenth of one. It is the way of systems without `fork`, and for
macOS, where a forked process may break in the system's own libraries: `COURSE_START=spawn` in the
environment that JupyterLab starts in asks for it.

    python -m helpers.engine.spawned FD      is one rank; FD holds what it is told
"""

from __future__ import annotations

import importlib
import mmap
import os
import pickle
import socket
import sys
from collections.abc import Sequence

from helpers.engine.local import Mailbox
from helpers.engine.plan import Plan
from helpers.engine.rank import be_rank, rank_fds
from helpers.engine.wire import anonymous_file


def spawn(plan: Plan, fds: list[int], mailbox: Mailbox, modules: Sequence[str]) -> list[int]:
    """Start the ranks of one run; returns their process ids once all have loaded these modules.

    One that ends before is among them: whoever collects it tells.
    """
    reader, writer = os.pipe()
    sockets = [end for lane in mailbox.inboxes for pair in lane for end in pair]
    inherited = {*fds, *mailbox.files, *(one.fileno() for one in sockets), writer}
    told: list[int] = []
    with open(reader, "rb") as loaded:
        try:
            for fd in inherited:
                os.set_inheritable(fd, True)
            for rank in range(plan.size):
                told.append(anonymous_file())
                body = (rank, plan, fds, _numbers(mailbox), writer, tuple(modules))
                os.pwrite(told[rank], pickle.dumps(body), 0)
                os.set_inheritable(told[rank], True)
            # What goes wrong before a rank settles is said in its output.
            started = [_start(fd, rank_fds(rank, fds)[2]) for rank, fd in enumerate(told)]
        finally:
            for fd in inherited:
                os.set_inheritable(fd, False)
            for fd in (*told, writer):
                os.close(fd)
        loaded.read(plan.size)  # a byte from each, or the end where the last of them has ended
    return started


def _start(fd: int, output: int) -> int:
    """Start one rank; returns its process id."""
    command = [sys.executable, "-m", "helpers.engine.spawned", str(fd)]
    actions = [(os.POSIX_SPAWN_DUP2, output, to) for to in (1, 2)]
    return os.posix_spawn(sys.executable, command, os.environ, file_actions=actions)


def _numbers(mailbox: Mailbox) -> tuple[list[list[tuple[int, int]]], list[int]]:
    """The mailbox by its descriptors, as it goes to another process."""
    lanes = [[(mine.fileno(), other.fileno()) for mine, other in lane] for lane in mailbox.inboxes]
    return lanes, mailbox.files


def main() -> None:
    """Be one rank."""
    fd = int(sys.argv[1])
    with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as memory:
        rank, plan, fds, (lanes, files), writer, modules = pickle.loads(memory)
    os.close(fd)
    for module in modules:
        importlib.import_module(module)
    os.write(writer, b".")
    os.close(writer)
    inboxes = [
        [(socket.socket(fileno=mine), socket.socket(fileno=other)) for mine, other in lane]
        for lane in lanes
    ]
    be_rank(rank, plan, fds, Mailbox(inboxes, files))


if __name__ == "__main__":
    main()
