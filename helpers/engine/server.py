"""The clean server process: it loads a framework once, and every rank is forked from it.

It has one thread and never computes, so that a fork is safe, which one of the notebook's own
process is not. Where ranks are not forked (`spawned`) it starts them, and loads nothing for them.
It talks with its client over one Unix socket, and ends when that closes.

    python -m helpers.engine.server FRAMEWORK SOCKET_FD [hosts]
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

import psutil

from helpers.engine import pages
from helpers.engine.hosts.namespaces import Missing, Namespaces
from helpers.engine.local import Mailbox
from helpers.engine.plan import Plan, forks
from helpers.engine.rank import be_rank
from helpers.engine.spawned import spawn
from helpers.engine.wire import anonymous_file, receive_message, send_message

MOST_FILES = 20_000

# What ranks import anyway, and would each wait for: torch._dynamo at the first use of an optimizer.
PRELOAD = {
    "torch": ("torch", "torch.distributed", "torch.nn", "torch._dynamo"),
    "tensorflow": ("torch", "torch._dynamo", "tensorflow", "tf_keras"),
    "horovod": (
        "torch",
        "torch.distributed",
        "torch._dynamo",
        "horovod.torch",
        "horovod.tensorflow",
    ),
}


class Server:
    """Forks ranks, reaps them, and ends what they leave behind."""

    def __init__(
        self,
        client: socket.socket,
        namespaces: Namespaces | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        self.client = client
        self.modules = modules  # that ranks load which are not forked
        self.namespaces = namespaces
        self.ranks: dict[int, int] = {}
        self.tidy = False
        self.wakeup, self._signal_end = socket.socketpair()
        self.wakeup.setblocking(False)
        self._signal_end.setblocking(False)
        signal.set_wakeup_fd(self._signal_end.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Answer requests until the client has gone."""
        self.tell("ready")
        while True:
            ready, _, _ = select.select([self.client, self.wakeup], [], [])
            if self.wakeup in ready:
                self.wakeup.recv(4096)
            self.reap()
            if self.client in ready:
                request, fds = receive_message(self.client)
                self.answer(pickle.loads(request), fds)

    def answer(self, request: tuple[str, Any], fds: list[int]) -> None:
        """Start ranks, say which have ended, or end them all."""
        what, plan = request
        if what == "start":
            self.start(plan, fds)
        elif what == "look":
            self.reap()
            self.tell("looked")
        else:
            end_descendants(self.ranks)
            self.ranks.clear()
            self.tell("ended")
            if not self.tidy:
                # Later forks are quicker for it. It takes a second, which the first run is spared.
                pages.collapse()
                self.tidy = True

    def start(self, plan: Plan, fds: list[int]) -> None:
        """Fork the ranks of one run, or say why there cannot be so many."""
        try:
            started = self.fork(plan, fds)
        except OSError as error:
            end_descendants(self.ranks)
            self.ranks.clear()
            self.tell("refused", str(error))
        else:
            self.tell("started", started)
        finally:
            for fd in fds:
                os.close(fd)

    def fork(self, plan: Plan, fds: list[int]) -> list[int]:
        """Fork the ranks of one run, or spawn them; returns their process ids, by rank."""
        if self.namespaces is not None and plan.network is not None:
            self.namespaces.prepare(plan.network)
        mailbox, started = make_mailbox(plan.size), []
        try:
            if not forks():
                started = spawn(plan, fds, mailbox, self.modules)
                self.ranks = {pid: rank for rank, pid in enumerate(started)}
                return started
            for rank in range(plan.size):
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    self.client.close()
                    be_rank(rank, plan, fds, mailbox)  # does not return
                self.ranks[pid] = rank
                started.append(pid)
        finally:
            mailbox.close()
        return started

    def reap(self) -> None:
        """Collect processes that have ended, and report the ranks among them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            rank = self.ranks.pop(pid, None)
            if rank is not None:
                self.tell("exit", (rank, os.waitstatus_to_exitcode(status)))

    def tell(self, *message: Any) -> None:
        """Send the client a message."""
        send_message(self.client, pickle.dumps(message))


def make_mailbox(size: int) -> Mailbox:
    """Inboxes and files for both lanes of every rank."""
    inboxes = [
        [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(size)]
        for _ in range(2)
    ]
    return Mailbox(inboxes, [anonymous_file() for _ in range(2 * size)])


def end_descendants(ranks: Iterable[int]) -> None:
    """Kill the ranks and every process they have started, and wait until all are gone."""
    for pid in ranks:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    # On Linux what they started is now our own child; elsewhere psutil still finds its children.
    while has_children():
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        time.sleep(0.001)


def has_children() -> bool:
    """Whether a child is alive; collects those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def adopt_orphans() -> None:
    """Become the parent of processes whose own parent has ended (Linux's child subreaper)."""
    if sys.platform == "linux":
        import ctypes

        pr_set_child_subreaper = 36
        ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def allow_many_files() -> None:
    """Raise the number of descriptors that a process may have: a block of memory takes one."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def main() -> None:
    """Load the framework, then serve."""
    framework, fd, where = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    client = socket.socket(fileno=fd)
    adopt_orphans()
    allow_many_files()
    try:
        namespaces = Namespaces() if where == ["hosts"] else None
    except Missing as why:
        send_message(client, pickle.dumps(("no hosts", str(why))))
        return
    try:
        for module in PRELOAD[framework] if forks() else ():
            importlib.import_module(module)
    except Exception as error:  # a missing package, or a library that it cannot load
        send_message(client, pickle.dumps(("missing", f"{type(error).__name__}: {error}")))
        return
    gc.collect()
    gc.freeze()  # keeps the collector from touching, and so copying, pages that ranks share
    server = Server(client, namespaces, PRELOAD[framework])
    try:
        server.serve()
    except (EOFError, ConnectionError):
        pass
    finally:
        end_descendants(server.ranks)


if __name__ == "__main__":
    main()
