"""The notebook's side of the server process: start it, ask it for ranks, end them."""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any

import psutil

from helpers.engine.errors import NoHosts, RunError, RunInterrupted
from helpers.engine.plan import Plan
from helpers.engine.wire import receive_message, send_message

_ROOT = Path(__file__).resolve().parents[2]
_QUIET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",
}
START_SECONDS = 3000  # starting is the machine's time: this only ends what hangs
SERVER_GONE = (
    "The server process from which the ranks are forked has ended; the next run starts a new one. "
    "Was memory short?"
)


class Client:
    """One server process. lock: held by the run that uses it.

    hosts: whether its ranks are on virtual hosts. Raises NoHosts where there can be none.
    """

    def __init__(self, framework: str, hosts: bool = False) -> None:
        self.framework = framework
        self.lock = threading.Lock()
        self.owner = os.getpid()
        ours, theirs = socket.socketpair()
        with theirs:
            environment = {**os.environ, **_QUIET}
            self.given = os.environ.keys() - _QUIET.keys()
            environment["PYTHONPATH"] = os.pathsep.join(
                [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
            )
            if framework == "horovod":
                environment["TF_USE_LEGACY_KERAS"] = "1"
            command = [sys.executable, "-m", "helpers.engine.server", framework]
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno()), *["hosts"] * hosts],
                pass_fds=[theirs.fileno()],
                env=environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self.socket = ours
        try:
            what, detail = self._expect("ready", "missing", "no hosts")
        except BaseException as error:
            self.destroy()
            if isinstance(error, KeyboardInterrupt):
                raise RunInterrupted("The run was interrupted before its ranks started.") from None
            if isinstance(error, OSError | EOFError):
                raise RunError(SERVER_GONE) from None
            raise
        if what == "no hosts":
            self.destroy()
            raise NoHosts(f"Virtual hosts cannot be had here: {detail}.")
        if what == "missing":
            self.destroy()
            raise RunError(
                f"Ranks of {framework} cannot start here: {detail}. `./course doctor` "
                "says what this machine lacks."
            )

    @property
    def alive(self) -> bool:
        """Whether the server can be asked."""
        return self.process.poll() is None

    def start(self, plan: Plan, fds: list[int]) -> list[int]:
        """Fork the ranks of a run; returns their process ids, by rank.

        Raises RunError where there cannot be so many, or where the server does not answer.
        """
        self.socket.settimeout(START_SECONDS)
        try:
            send_message(self.socket, pickle.dumps(("start", plan)), tuple(fds))
            what, detail = self._expect("started", "refused")
        except TimeoutError:
            raise RunError(
                f"The ranks did not start within {START_SECONDS} s. Is the machine overloaded?"
            ) from None
        except (EOFError, OSError):
            raise RunError(SERVER_GONE) from None
        self.socket.settimeout(None)
        if what == "refused":
            raise RunError(f"{plan.size} ranks cannot be started here: {detail}. Try fewer.")
        return list(detail)

    def exits(self) -> tuple[int, int]:
        """The next report that a rank's process has ended: its rank and its exit code."""
        return self._expect("exit")[1]

    def all_exits(self) -> list[tuple[int, int]]:
        """The reports of all processes of ranks that have ended by now."""
        send_message(self.socket, pickle.dumps(("look", None)))
        found: list[tuple[int, int]] = []
        while True:
            what, told = self._expect("exit", "looked")
            if what == "looked":
                return found
            found.append(told)

    def end(self) -> None:
        """End all ranks and what they started; returns when they are gone."""
        try:
            send_message(self.socket, pickle.dumps(("end", None)))
            self._expect("ended")
        except BaseException as error:
            self.destroy()
            if not isinstance(error, OSError | EOFError):
                raise

    def destroy(self) -> None:
        """End the server and everything below it, whatever state it is in."""
        self.socket.close()
        if self.owner != os.getpid() or self.process.poll() is not None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            server = psutil.Process(self.process.pid)
            server.suspend()  # forks no more while its children are counted
            for child in [*server.children(recursive=True), server]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
        self.process.wait()

    def _expect(self, *kinds: str) -> tuple[str, Any]:
        while True:
            kind, *rest = pickle.loads(receive_message(self.socket)[0])
            if kind in kinds:
                return kind, rest[0] if rest else None


def environment(given: Collection[str]) -> dict[str, str | None]:
    """The notebook's environment as the ranks see it, without what belongs to another job.

    given: what the server was started with; None for what the notebook has deleted since.
    """
    private = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "TF_CONFIG")
    now = {name: value for name, value in os.environ.items() if name not in private}
    return {**dict.fromkeys(given), **now}


_clients: dict[tuple[str, bool], Client] = {}
_starting = threading.Lock()


def client_for(framework: str, hosts: bool = False) -> Client:
    """The server for a framework, on this machine or on its virtual hosts; started where needed."""
    with _starting:
        client = _clients.get((framework, hosts))
        if client is not None and client.owner == os.getpid() and client.alive:
            return client
        if client is not None:
            client.destroy()
        _clients[framework, hosts] = client = Client(framework, hosts)
        return client


@atexit.register
def close_all() -> None:
    """End every server; a later run starts its own again."""
    for client in _clients.values():
        if client.owner == os.getpid():
            with contextlib.suppress(OSError):
                client.process.send_signal(signal.SIGCONT)
            client.destroy()
    _clients.clear()
