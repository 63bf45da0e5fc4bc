"""A worker of a search: a process with a job at a time, forked where torch is loaded already.

Python's fork server loads torch once, at a process's first search; from then on a worker is there
in milliseconds, where a new Python takes seconds.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import pickle
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import torch

from helpers.engine.errors import death
from helpers.engine.family import die_with_parent
from helpers.engine.wire import Pickler
from helpers.lessons.search.algorithms.rungs import Job

Train = Callable[[Job, Any], tuple[float, Any]]
FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["torch", "helpers.lessons.search.experiments.search_models"])


class Worker:
    """A process, and the line to it, on which its end can be read, too.

    number: from 0; the one that takes a dead one's place has a number of its own. train: packed.
    """

    def __init__(self, number: int, train: bytes) -> None:
        self.number = number
        self.line, theirs = FORKED.Pipe()
        self.process = FORKED.Process(target=be_worker, args=(theirs, train), daemon=True)
        with theirs:
            self.process.start()

    def give(self, job: Job, state: Any) -> None:
        """Send a job, and what the trial goes on from."""
        with contextlib.suppress(OSError):  # it has gone, and reading tells so
            self.line.send_bytes(packed((job, state)))

    def take(self) -> Any:
        """What has come: a loss and a state, or a text, what training raised and where. Raises
        OSError where it has gone."""
        try:
            return pickle.loads(self.line.recv_bytes())
        except EOFError:
            raise ConnectionResetError from None

    def end(self) -> str:
        """End it, if it has not ended yet; how it ended, such as "was killed by signal 9"."""
        self.process.kill()
        self.process.join()
        code = self.process.exitcode
        self.process.close()
        self.line.close()
        return death(code or 0)


def be_worker(line: Connection, packed_train: bytes) -> None:
    """Train one job after the other until the caller has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the caller's
    die_with_parent()
    torch.set_num_threads(1)
    train: Train | None = None
    with contextlib.suppress(EOFError, OSError):
        while True:
            message = line.recv_bytes()
            try:
                train = train or pickle.loads(packed_train)
                loss, state = train(*pickle.loads(message))
                answer = packed((float(loss), state))
            except Exception as error:
                trace = "".join(traceback.format_exception(error))
                answer = pickle.dumps(f"{type(error).__name__}: {error}\n\n{trace}")
            line.send_bytes(answer)


def packed(value: Any) -> bytes:
    """A value as bytes, also where it is made of a cell's functions and classes, or of tensors."""
    stream = io.BytesIO()
    Pickler(stream, protocol=5).dump(value)
    return stream.getvalue()
