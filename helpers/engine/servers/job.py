"""What one training on real ranks is made of, as all of its ranks are told it, and what they say.

The first ranks are the servers, the others the workers. A worker asks all servers at once, waits
until each has answered, and goes on; so of each worker at most one thing is on its way to a server.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from helpers.engine.comm import Comm
from helpers.engine.servers.client import MakeClient
from helpers.engine.servers.parameter_server import Array, Reply
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import MakeRule
from helpers.engine.wire import Pickler

LINE = 200  # bytes for what a server says in the file that tells how far it is


class Plan(NamedTuple):
    """What `train_processes` was asked for; see there. progress: a file to tell how far it is."""

    make_rule: MakeRule
    make_client: MakeClient
    task: Task
    workers: int
    servers: int
    batch: int
    updates: int
    evaluate_every: int
    snapshot_every: int
    write_through: bool
    slow: Mapping[int, float]
    kill: Mapping[str, int]
    progress: str

    @property
    def names(self) -> list[str]:
        """What each rank is called."""
        servers = [f"server {number}" for number in range(self.servers)]
        return servers + [f"worker {number}" for number in range(self.workers)]


class Ask(NamedTuple):
    """What a worker asks: "pull", "push" with the part that it pushes, or "leave".

    version: of the weights that the part was computed on. wants: whether it wants weights.
    died: of one that leaves, how it died; nothing where it has come to its end.
    """

    kind: str
    wants: bool = True
    version: int = 0
    part: Array | None = None
    died: str = ""


class Answer(NamedTuple):
    """What a server answers. over: whether it has made its last update."""

    reply: Reply
    over: bool


def dumps(value: Any) -> bytes:
    """A value as bytes, tensors and classes of cells too. Raises what pickling raises."""
    stream = io.BytesIO()
    Pickler(stream, protocol=5).dump(value)
    return stream.getvalue()


def say(comm: Comm, value: Any, to: int) -> None:
    """Send a value off, without waiting until it has come."""
    comm.isend(np.frombuffer(dumps(value), np.uint8), to)


def hear(comm: Comm, source: Sequence[int]) -> list[Any]:
    """The next value of each of some ranks."""
    return [pickle.loads(comm.recv(rank)) for rank in source]


def count(number: int, noun: str) -> str:
    """ "1 update", "2 updates"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
