"""Messages on virtual links: when each starts, arrives and is received.

The model. Each rank has one link out and one link in, full duplex. A message of n bytes occupies
the sender's link out and the receiver's link in for n/bandwidth each, and arrives
latency + n/bandwidth after it starts; it starts once it is sent and both links are free. That is
the α–β model of Hockney (1994), with α the latency and β = 1/bandwidth, one port each way.
A message is received when it has arrived and the receiver has asked for it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from helpers.engines.scheduler import Scheduler, Task
from helpers.engines.tensors import Header


class Pending:
    """Something that is done at a virtual time. done_at: None while that is not known yet."""

    __slots__ = ("done_at", "looked_at", "waiters")

    def __init__(self) -> None:
        self.done_at: float | None = None
        self.looked_at = -1.0
        self.waiters: list[Task] = []

    def complete(self, clock: float, scheduler: Scheduler) -> None:
        """Say when it is done, and wake who waits for it."""
        self.done_at = clock
        for task in self.waiters:
            scheduler.wake(task, clock)


class Message(Pending):
    """A tensor on its way; done when it is received. start, arrival: virtual seconds."""

    __slots__ = ("arrival", "data", "header", "peer", "start")

    def __init__(self, header: Header, data: Any, peer: int, start: float, arrival: float) -> None:
        super().__init__()
        self.header, self.data, self.peer = header, data, peer
        self.start, self.arrival = start, arrival


class Asked(Pending):
    """A receive that has begun at a virtual time; done when its message is received."""

    __slots__ = ("begun", "into", "message", "peer", "value")

    def __init__(self, peer: int, into: Any, begun: float) -> None:
        super().__init__()
        self.peer, self.into, self.begun = peer, into, begun
        self.message: Message | None = None
        self.value: Any = None


class Links:
    """All links and what waits on them. Messages of a pair and lane keep their order."""

    def __init__(self, scheduler: Scheduler, ranks: int, latency: float, bandwidth: float) -> None:
        self.latency, self.bandwidth = latency, bandwidth
        self.bytes = [0] * ranks
        self.messages = [0] * ranks
        self._scheduler = scheduler
        self._out_free = [0.0] * ranks
        self._in_free = [0.0] * ranks
        self._sent: dict[tuple[int, int, int], deque[Message]] = defaultdict(deque)
        self._asked: dict[tuple[int, int, int], deque[Asked]] = defaultdict(deque)

    def send(self, task: Task, to: int, header: Header, data: Any) -> Message:
        """Put a message on the links at the task's clock."""
        rank = task.rank
        start = max(task.clock, self._out_free[rank], self._in_free[to])
        wire = header.nbytes / self.bandwidth
        self._out_free[rank] = self._in_free[to] = start + wire
        self.bytes[rank] += header.nbytes
        self.messages[rank] += 1
        message = Message(header, data, to, start, start + self.latency + wire)
        key = (rank, to, task.lane)
        asked = self._asked.get(key)
        if asked:
            self._receive(message, asked.popleft())
        else:
            self._sent[key].append(message)
        return message

    def ask(self, task: Task, source: int, into: Any) -> Asked:
        """Begin to receive at the task's clock."""
        asked = Asked(source, into, task.clock)
        key = (source, task.rank, task.lane)
        sent = self._sent.get(key)
        if sent:
            self._receive(sent.popleft(), asked)
        else:
            self._asked[key].append(asked)
        return asked

    def _receive(self, message: Message, asked: Asked) -> None:
        received = max(message.arrival, asked.begun)
        asked.message = message
        message.complete(received, self._scheduler)
        asked.complete(received, self._scheduler)
