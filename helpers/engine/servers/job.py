"""What one training on real processes is made of, as every process of it inherits it.

Servers listen on sockets that their supervisor keeps, so that a server that takes a dead one's
place listens where that did. Requests are numbered. Number 1 is the worker's wish to begin; each
pull and each push is one more. A worker waits for the answer of that number, and asks once more
where its server has died meanwhile; a server answers a request that it has taken up already once
more, with the same answer.
"""

from __future__ import annotations

import io
import math
import mmap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from helpers.engine.servers.client import MakeClient
from helpers.engine.servers.parameter_server import Array, Message, Reply, Server
from helpers.engine.servers.places import Places
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import MakeRule
from helpers.engine.wire import Pickler

RESTARTS = 100  # of one server, at most


class Plan(NamedTuple):
    """What `train_processes` was asked for; see there."""

    make_rule: MakeRule
    make_client: MakeClient
    task: Task
    workers: int
    servers: int
    batch: int
    updates: int | None
    evaluate_every: int
    order: list[list[Message]] | None
    timeout: float
    snapshot_every: int
    write_through: bool
    slow: Mapping[int, float]
    kill: Mapping[str, Sequence[float]]
    trace: bool
    status: str  # of a file to keep the words in that an interrupt shows
    places: Places | None = None

    @property
    def names(self) -> list[str]:
        """All servers and workers, in words."""
        servers = [f"server {number}" for number in range(self.servers)]
        return servers + [f"worker {number}" for number in range(self.workers)]

    def host(self, name: str) -> int | None:
        """The host of a server or a worker; None where there are no hosts."""
        if self.places is None:
            return None
        kind, number = name.split()
        return (self.places.servers if kind == "server" else self.places.workers)[int(number)]


class Request(NamedTuple):
    """What a worker asks. kind: "begin", "pull" or "push", with the part that it pushes.

    version, incarnation: of the weights that the part was computed on, and of the server that gave
    them.
    """

    worker: int
    number: int
    kind: str
    wants: bool
    version: int = 0
    incarnation: int = 0
    part: Array | None = None


class Answer(NamedTuple):
    """A server's answer to the request of that number."""

    number: int
    incarnation: int
    reply: Reply


class State(NamedTuple):
    """A server between two messages, as it is saved.

    taken, said: for each worker, the number of its request that was last taken up, and answered.
    answers: the last ones, as long as nobody knows that they have come. logged: how many messages
    were taken up; the log itself is kept by the supervisor.
    """

    core: Server
    taken: list[int]
    said: list[int]
    answers: dict[int, Answer]
    logged: int


class Table:
    """Numbers that all processes of a training see, in memory that outlives each of them.

    Each cell has one writer, and nobody takes a lock, so a process may be killed at any moment.
    """

    def __init__(self, servers: int, workers: int) -> None:
        self.began = shared((1,), np.float64)
        self.version = shared((servers,))  # updates made, as the server last said
        self.complete = shared((servers,))  # 1 once its last update is saved
        self.busy = shared((servers,))  # 1 while it takes something up
        self.incarnation = shared((servers,))  # how often it was started again
        self.bytes_in, self.bytes_out = shared((servers,)), shared((servers,))
        self.steps = shared((workers,))  # gradients that each worker has begun
        self.gone = shared((workers,))
        pairs = servers, workers
        self.asked = shared(pairs)  # the number of the worker's last request
        self.heard = shared(pairs)  # of the last one that has come to the server
        self.taken = shared(pairs)  # of the last one that it took up
        self.said = shared(pairs)  # of its last answer
        self.answered = shared(pairs)  # of the last one that has come to the worker
        self.seen = shared((*pairs, RESTARTS + 1))  # the last version from each incarnation

    def waiting(self) -> np.ndarray:
        """Which pairs wait: the worker has asked and has no answer, as booleans."""
        return self.answered < self.asked

    def travelling(self) -> bool:
        """Whether somebody waits for what is on its way."""
        under_way = (self.heard < self.asked) | (self.said > self.answered)
        return bool((under_way & self.waiting() & (self.gone == 0)).any())


def shared(shape: tuple[int, ...], kind: type = np.int64) -> np.ndarray:
    """Zeros in memory that all processes share which are forked from this one."""
    return np.frombuffer(mmap.mmap(-1, 8 * math.prod(shape)), kind).reshape(shape)


def dumps(value: Any) -> bytes:
    """A value as bytes, tensors and classes of cells too. Raises what pickling raises."""
    stream = io.BytesIO()
    Pickler(stream, protocol=5).dump(value)
    return stream.getvalue()


def check_like(target: Array, array: Array, what: str) -> None:
    """Raise ValueError where an array is of another length or kind than where it goes."""
    kinds = [getattr(a, "dtype", type(a).__name__) for a in (target, array)]
    lengths = [tuple(getattr(a, "shape", ())) for a in (target, array)]
    if kinds[0] != kinds[1] or lengths[0] != lengths[1]:
        raise ValueError(
            f"{what} has the shape {lengths[1]} and is of {kinds[1]}; where it goes has "
            f"{lengths[0]} of {kinds[0]}, as the task's initial weights. Return an array like the "
            "weights."
        )
