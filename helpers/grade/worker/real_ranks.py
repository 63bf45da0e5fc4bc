"""A submission's function on real ranks: processes of the same sandbox, that talk for real.

The engine is the course's own. Only its server, from which ranks are forked, is itself forked from
the submission's process, which has everything loaded.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from typing import Any, NoReturn

from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.spec import Observation
from helpers.engine.errors import Deadlock, RankFailed, RunError, RunTimeout
from helpers.engine.family import adopt_orphans, end_descendants
from helpers.engine.launch import Client, Server, environment
from helpers.engine.plan import Plan
from helpers.engine.processes import LocalRun, pack_function
from helpers.engine.trace import Results


def run_on_real_ranks(
    drive: Ranked,
    fn: Function,
    args: Sequence[tuple[Any, ...]],
    timeout: float,
    transport: str = "shared memory",
    hosts: Sequence[int] | None = None,
) -> Observation:
    """Observe `fn` on one real rank for each of `args`, the ranks' own arguments.

    timeout: seconds of the whole run. transport: "shared memory" or "sockets" (gloo's). hosts: what
    each rank is told of where it is; they are all on this machine. `values` are plain, in rank
    order; where a rank went wrong, the observation says so instead. Nothing of the run is left.
    Call it in the main thread.
    """
    if args and (trouble := drive.wrong_signature(fn, args[0])):
        return trouble
    try:
        results = _run(drive, fn, args, timeout, transport, hosts)
    except RankFailed as error:
        undone = error.kind == "NotImplementedError" and "is not done yet" in error.message
        return Observation(
            trouble="not done" if undone else "failed",
            kind=error.kind,
            text=error.message,
            rank=error.rank,
        )
    except Deadlock as error:
        return Observation(trouble="deadlock", text=str(error), waiting=dict(error.waiting))
    except RunTimeout as error:
        return Observation(trouble="timeout", text=error.report, rank=error.rank)
    except RunError as error:
        return Observation(trouble="died", text=error.report, rank=error.rank)
    except TypeError as error:  # what cannot be sent to ranks
        return Observation(trouble="failed", kind="TypeError", text=str(error))
    stats = results.stats
    return Observation(
        values=list(results),
        bytes=list(stats.bytes),
        messages=list(stats.messages),
        seconds=list(stats.seconds),
    )


def _run(
    drive: Ranked,
    fn: Function,
    args: Sequence[tuple[Any, ...]],
    timeout: float,
    transport: str,
    hosts: Sequence[int] | None,
) -> Results:
    parcel = pack_function(_on_rank, (drive, fn, list(args), hosts))
    client = ForkedClient()
    try:
        plan = Plan(
            size=len(args),
            framework="torch",
            transport=transport,
            device="cpu",
            threads=1,
            timeout=timeout,
            environment=environment(()),
            path=list(sys.path),
            folder=os.getcwd(),
            head=parcel.head,
        )
        run = LocalRun(client, plan, parcel, show=False)
        try:
            run.finish()
            return run.results()
        finally:
            run.close()
    finally:
        parcel.close()
        client.destroy()


def _on_rank(
    comm: Any,
    drive: Ranked,
    fn: Function,
    args: list[tuple[Any, ...]],
    hosts: Sequence[int] | None,
) -> Any:
    comm._hosts = None if hosts is None else tuple(hosts)
    return drive.on_rank(fn, comm, args[comm.rank])


class Forked:
    """A forked process, asked as one of the subprocess module."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._collect(os.WNOHANG)

    def wait(self) -> int | None:
        """Its exit code, once it has ended."""
        return self._collect(0)

    def _collect(self, flags: int) -> int | None:
        if self._code is None:
            try:
                pid, status = os.waitpid(self.pid, flags)
            except ChildProcessError:  # somebody else has collected it
                self._code = 0
            else:
                self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code


class ForkedClient(Client):
    """The engine's client, of a server that is a fork of this process."""

    process: Forked  # type: ignore[assignment]

    def __init__(self) -> None:
        self.framework = "torch"
        self.lock = threading.Lock()
        self.owner = os.getpid()
        self.socket, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            self.socket.close()
            _serve(theirs)
        theirs.close()
        self.process = Forked(pid)
        self._expect("ready")


def _serve(client: socket.socket) -> NoReturn:
    """Be the server until the client has gone."""
    server = None
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        adopt_orphans()
        server = Server(client)
        with contextlib.suppress(EOFError, ConnectionError):
            server.serve()
    finally:
        if server is not None:
            end_descendants(server.ranks)
        os._exit(0)
