"""Messages on virtual links: when each starts, arrives and is received.

The model. Each rank has one link out and one link in, full duplex. A message of n bytes occupies
the sender's link out and the receiver's link in for n/bandwidth each, and arrives
latency + n/bandwidth after it starts; it starts once it is sent and both links are free. That is
the α–β model of Hockney (1994), with α the latency and β = 1/bandwidth, one port each way.
A message is received when it has arrived and the receiver has asked for it.

Where ranks share hosts, the link is the host's: messages of all its ranks go over it one at a time,
each as soon as both its links have room for it. A message arrives as quickly as the slower of its
two links lets it, and occupies each for as long as that one needs. Through a switch pass `switch`
bytes a second of all messages together. Messages inside a host go through its memory, which carries
those of each rank one by one.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter, defaultdict, deque
from typing import Any, NamedTuple

from helpers.engine.scheduler import Scheduler, Task
from helpers.engine.tensors import Header


class Pending:
    """Something that is done at a virtual time. done_at: None while that is not known yet.

    comm: that of the rank that has begun it.
    """

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.done_at: float | None = None
        self.looked_at = -1.0
        self.waiters: list[Task] = []

    def complete(self, clock: float, scheduler: Scheduler) -> None:
        """Say when it is done, and wake who waits for it."""
        self.done_at = clock
        for task in self.waiters:
            scheduler.wake(task, clock)

    def due(self, task: Task) -> bool:
        """Whether it is done by the time on a task's clock."""
        return self.done_at is not None and self.done_at <= task.clock

    def done(self) -> bool:
        """Whether `wait` would return at once. Asked again and again, it lets the others go on."""
        task = self.comm.running()
        if not self.due(task) and self.looked_at == task.clock:
            self.comm.world.scheduler.let_others(task, self.done_at)
        self.looked_at = task.clock
        return self.due(task)


class Message(Pending):
    """A tensor on its way; done when it is received. start, arrival: virtual seconds."""

    def __init__(self, comm: Any, header: Header, data: Any, peer: int) -> None:
        super().__init__(comm)
        self.header, self.data, self.peer = header, data, peer
        self.start = self.arrival = 0.0

    def wait(self) -> None:
        """Block until the receiver has taken the message."""
        self.comm.wait_sent(self)


class Asked(Pending):
    """A receive that has begun at a virtual time; done when its message is received."""

    def __init__(self, comm: Any, peer: int, into: Any, begun: float) -> None:
        super().__init__(comm)
        self.peer, self.into, self.begun = peer, into, begun
        self.message: Message | None = None
        self.value: Any = None

    def wait(self) -> Any:
        """The tensor. Raises ValueError where it does not fit `into`."""
        return self.comm.wait_received(self)


class Hosts(NamedTuple):
    """Ranks on hosts. of: the host of each rank. All bandwidths in bytes a second.

    bandwidth: of each host's link, in each direction. switch: of all messages between hosts
    together. memory, memory_latency: between ranks on one host, the latency in seconds.
    """

    of: tuple[int, ...]
    bandwidth: tuple[float, ...]
    switch: float = math.inf
    memory: float = 5e9
    memory_latency: float = 20e-6


class Way:
    """One direction of a host's link: when it is taken.

    Whoever waits for the other end holds nobody up here: a message goes into the first gap.
    """

    def __init__(self) -> None:
        self._taken: list[tuple[float, float]] = []

    def free(self, start: float, seconds: float) -> float:
        """The first moment from `start` on at which it is free for so long."""
        for begin, end in self._taken:
            if start + seconds <= begin:
                break
            start = max(start, end)
        return start

    def take(self, start: float, seconds: float, now: float) -> None:
        """Take it for a while. now: nobody asks for what lies before."""
        if seconds:
            self._taken = [taken for taken in self._taken if taken[1] > now]
            insort(self._taken, (start, start + seconds))


class Links:
    """All links and what waits on them. Messages of a pair and lane keep their order."""

    def __init__(
        self,
        scheduler: Scheduler,
        ranks: int,
        latency: float,
        bandwidth: float,
        hosts: Hosts | None = None,
    ) -> None:
        self.latency, self.bandwidth = latency, bandwidth
        self.hosts = hosts
        self.sent: list[Counter[int]] = [Counter() for _ in range(ranks)]
        self.messages = [0] * ranks
        self._scheduler = scheduler
        self._out_free = [0.0] * ranks
        self._in_free = [0.0] * ranks
        self._ways = [(Way(), Way()) for _ in hosts.bandwidth] if hosts else []  # out, in
        self._switch_free = 0.0
        self._sent: dict[tuple[int, int, int], deque[Message]] = defaultdict(deque)
        self._asked: dict[tuple[int, int, int], deque[Asked]] = defaultdict(deque)

    def send(self, task: Task, message: Message) -> None:
        """Put a message on the links at the task's clock."""
        rank, to, nbytes = task.rank, message.peer, message.header.nbytes
        if self.hosts is None:
            message.start = max(task.clock, self._out_free[rank], self._in_free[to])
            through = message.start + nbytes / self.bandwidth
            self._out_free[rank] = self._in_free[to] = through
            message.arrival = through + self.latency
        else:
            found = self._between_hosts(self.hosts, task.clock, rank, to, nbytes)
            message.start, message.arrival = found
        self.sent[rank][to] += nbytes
        self.messages[rank] += 1
        key = (rank, to, task.lane)
        asked = self._asked.get(key)
        if asked:
            self._receive(message, asked.popleft())
        else:
            self._sent[key].append(message)

    def _between_hosts(
        self, hosts: Hosts, now: float, rank: int, to: int, nbytes: int
    ) -> tuple[float, float]:
        """When a message starts and arrives; occupies what it goes through."""
        here, there = hosts.of[rank], hosts.of[to]
        if here == there:
            start = max(now, self._out_free[rank], self._in_free[to])
            through = start + nbytes / hosts.memory
            self._out_free[rank] = self._in_free[to] = through
            return start, through + hosts.memory_latency
        out, into = self._ways[here][0], self._ways[there][1]
        long, longer = nbytes / hosts.bandwidth[here], nbytes / hosts.bandwidth[there]
        start, found = now, -1.0
        while start != found:
            start = found = out.free(start, long)
            start = into.free(start, longer)
        out.take(start, long, now)
        into.take(start, longer, now)
        self._switch_free = max(now, self._switch_free) + nbytes / hosts.switch
        return start, max(start + long, start + longer, self._switch_free) + self.latency

    def ask(self, task: Task, asked: Asked) -> None:
        """Begin to receive."""
        key = (asked.peer, task.rank, task.lane)
        sent = self._sent.get(key)
        if sent:
            self._receive(sent.popleft(), asked)
        else:
            self._asked[key].append(asked)

    def _receive(self, message: Message, asked: Asked) -> None:
        received = max(message.arrival, asked.begun)
        asked.message = message
        message.complete(received, self._scheduler)
        asked.complete(received, self._scheduler)
