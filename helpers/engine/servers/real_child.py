"""What a forked process does to be a server or a worker, and its last words where it fails."""

from __future__ import annotations

import faulthandler
import io
import os
import pickle
import signal
import sys
from typing import Any, NoReturn

from helpers.engine.hosts.namespaces import be_on
from helpers.engine.rank import describe_failure, die_with_server
from helpers.engine.real import Recorder
from helpers.engine.servers.job import Job


def be_child(job: Job, name: str) -> NoReturn:
    """Be a server or a worker until it is ended. What it raises is left in its file."""
    try:
        die_with_server()
        if (host := job.host(name)) is not None:
            be_on(host)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        faulthandler.enable(job.stacks[name])
        faulthandler.register(signal.SIGUSR1, job.stacks[name])
        sys.stdout = Named(name, 1)
        sys.stderr = Named(name, 2)
        serve(job, name)
    except BaseException as error:
        failure = describe_failure(error, Recorder(0))
        os.pwrite(job.words[name], pickle.dumps(failure), 0)
    finally:
        os._exit(1)


def serve(job: Job, name: str) -> None:
    """Do a server's or a worker's work."""
    from helpers.engine.servers.real_server import ServerProcess
    from helpers.engine.servers.real_worker import WorkerProcess

    kind, number = name.split()
    process: Any = ServerProcess if kind == "server" else WorkerProcess
    process(job, int(number)).run()


class Named(io.TextIOBase):
    """Output with its process's name before each line; a line is written whole."""

    def __init__(self, name: str, fd: int) -> None:
        self._name, self._fd, self._open = name, fd, ""

    def write(self, text: str) -> int:
        """Write the lines that are complete."""
        *lines, self._open = (self._open + text).split("\n")
        for line in lines:
            os.write(self._fd, f"{self._name} | {line}\n".encode())
        return len(text)

    def fileno(self) -> int:
        """Of the stream below."""
        return self._fd

    def writable(self) -> bool:
        """Always."""
        return True
