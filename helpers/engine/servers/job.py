"""What one training on real processes is made of, as every process of it inherits it."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from helpers.engine.servers.client import Client, MakeClient
from helpers.engine.servers.parameter_server import Message, Server
from helpers.engine.servers.places import Places
from helpers.engine.servers.slots import Slots
from helpers.engine.servers.snapshot import Vault
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import MakeRule
from helpers.engine.wire import anonymous_file

BEGIN = 1 << 30  # a message to a server: everybody is there
WAITING, COMPUTING = 0, 1
EVENT = struct.Struct("=bdd")  # what a worker did, from when, until when
_MESSAGE = struct.Struct("=i")


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


class Pipe:
    """A pipe for notices. Every process keeps both ends, so that none is lost when one dies."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)

    def ring(self) -> None:
        """Wake who reads. Where the pipe is full, that has been done often enough."""
        with suppress(BlockingIOError):
            os.write(self.writer, b"!")

    def rest(self) -> None:
        """Wait until somebody has rung; all of it counts as once."""
        os.read(self.reader, 4096)

    def send(self, code: int) -> None:
        """Send a server a message: a worker that has asked, −1 − a worker that is gone, BEGIN."""
        os.write(self.writer, _MESSAGE.pack(code))

    def receive(self) -> list[int]:
        """Wait for messages; in the order in which they were sent."""
        return [code for (code,) in _MESSAGE.iter_unpack(os.read(self.reader, 4096))]

    def close(self) -> None:
        """Close both ends."""
        os.close(self.reader)
        os.close(self.writer)


@dataclass
class Job:
    """One training: what is shared, and what each process begins with.

    cores, clients: as they are at the start; the supervisor never uses them, so that a server that
    is restarted finds its own unchanged. words, stacks, events: files for a process's exception,
    for where in the code it is, and for what a worker did when.
    """

    plan: Plan
    slots: Slots
    cores: list[Server]
    clients: list[Client]
    vaults: list[Vault]
    bell: Pipe  # wakes the supervisor
    to_server: list[Pipe]
    to_worker: list[Pipe]
    words: dict[str, int] = field(default_factory=dict)
    stacks: dict[str, int] = field(default_factory=dict)
    events: list[int] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """All servers and workers, in words."""
        servers = [f"server {number}" for number in range(self.plan.servers)]
        return servers + [f"worker {number}" for number in range(self.plan.workers)]

    def host(self, name: str) -> int | None:
        """The host of a server or a worker; None where there are no hosts."""
        if self.plan.places is None:
            return None
        kind, number = name.split()
        places = self.plan.places
        return (places.servers if kind == "server" else places.workers)[int(number)]

    def prepare(self) -> None:
        """Make the files."""
        self.events = [anonymous_file() for _ in range(self.plan.workers)]
        for name in self.names:
            self.words[name], self.stacks[name] = anonymous_file(), anonymous_file()
