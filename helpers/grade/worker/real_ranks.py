"""A submission's function on real ranks: processes of the same sandbox, that talk for real.

The engine is the course's own. Only its server, from which ranks are forked, is itself forked from
the submission's process, which has everything loaded.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from typing import Any, NoReturn

import psutil

from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.spec import Observation
from helpers.engine import launch
from helpers.engine.errors import Deadlock, RankFailed, RunError, RunTimeout
from helpers.engine.family import adopt_orphans, end_descendants
from helpers.engine.processes import run_processes


def run_on_real_ranks(
    drive: Ranked,
    fn: Function,
    args: Sequence[tuple[Any, ...]],
    timeout: float,
    hosts: Sequence[int] | None = None,
) -> Observation:
    """Observe `fn` on one real rank for each of `args`, the ranks' own arguments.

    timeout: seconds of the whole run. hosts: what each rank is told of where it is; they are all on
    this machine. `values` are plain, in rank order; where a rank went wrong, the observation says
    so instead. Nothing of the run is left. Call it in the main thread.
    """
    if args and (trouble := drive.wrong_signature(fn, args[0])):
        return trouble
    client = launch.clients[os.getpid(), "torch", False] = ForkedClient()
    try:
        given = drive, fn, list(args), hosts
        found = run_processes(_on_rank, given, ranks=len(args), timeout=timeout, show=False)
        return Observation(values=list(found))
    except RankFailed as error:
        if error.kind == "NotImplementedError" and "is not done yet" in error.message:
            return Observation(trouble="not done", text=error.message)
        return Observation(trouble="failed", kind=error.kind, text=error.message)
    except Deadlock as error:
        return Observation(trouble="deadlock", text=str(error))
    except RunTimeout as error:
        return Observation(trouble="timeout", text=error.report)
    except RunError as error:
        return Observation(trouble="died", text=error.report)
    except TypeError as error:  # what cannot be sent to ranks
        return Observation(trouble="failed", kind="TypeError", text=str(error))
    finally:
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


class Forked(psutil.Process):
    """A forked process, asked as one of the subprocess module."""

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""
        with contextlib.suppress(psutil.TimeoutExpired):
            return self.wait(0) or 0
        return None


class ForkedClient(launch.Client):
    """The engine's client, of a server that is a fork of this process."""

    process: Forked  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__("torch")
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
        server = launch.Server(client)
        with contextlib.suppress(EOFError, ConnectionError):
            server.serve()
    finally:
        if server is not None:
            end_descendants(server.ranks)
        os._exit(0)
