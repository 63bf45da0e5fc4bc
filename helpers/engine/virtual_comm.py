"""What rank code sees on the virtual clock."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch

from helpers.engine import tensors
from helpers.engine.comm import NO_COMMON_MEMORY, Comm
from helpers.engine.deadlock import State
from helpers.engine.scheduler import Scheduler, Task
from helpers.engine.trace import Event, Kind
from helpers.engine.virtual_links import Asked, Hosts, Links, Message, Pending

CPU = torch.device("cpu")


class World:
    """What the ranks of a run share: the clock, the links, the meetings, the trace."""

    def __init__(
        self,
        scheduler: Scheduler,
        ranks: int,
        latency: float,
        bandwidth: float,
        hosts: Hosts | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.size = ranks
        self.links = Links(scheduler, ranks, latency, bandwidth, hosts)
        self.hosts = hosts.of if hosts else (0,) * ranks
        self.events: list[Event] = []
        self.meetings: dict[tuple[str, int, int], Meeting] = {}


class Meeting(Pending):
    """A barrier, or a call of shared(): done when every rank has come."""

    def __init__(self, comm: VirtualComm) -> None:
        super().__init__(comm)
        self.come: list[int] = []
        self.header: tensors.Header | None = None
        self.buffers: list[torch.Tensor] = []


class VirtualCall(Pending):
    """A background function, from its call to its end."""

    def __init__(self, comm: VirtualComm, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        super().__init__(comm)
        self.fn, self.args = fn, args
        self.name = str(getattr(fn, "__name__", type(fn).__name__))
        self.value: Any = None

    def wait(self) -> Any:
        """The function's value."""
        state = State(self.comm.rank, "background", what=self.name)
        self.comm.wait_for(self, state, f"wait for {self.name}")
        return self.value


class VirtualComm(Comm):
    """A rank on the virtual clock, or its communication thread (lane 1)."""

    device = CPU

    def __init__(self, rank: int, world: World) -> None:
        self.rank = rank
        self.size = world.size
        self.world = world
        self.task: Task
        self._meetings = {"barrier": 0, "shared": 0}
        self._behind: VirtualComm | None = None
        self._jobs: deque[VirtualCall] = deque()

    @property
    def hosts(self) -> tuple[int, ...]:
        return self.world.hosts

    def isend(self, tensor: Any, to: int) -> Message:
        task = self.running()
        to = self.peer(to, "sends to")
        packed = isinstance(tensor, tensors.Packed)
        header, data = (tensor.header, tensor.data) if packed else tensors.snapshot(tensor)
        message = Message(self, header, data, to)
        task.unwaited[id(message)] = message
        self.world.links.send(task, message)
        return message

    def irecv(self, source: int, into: Any = None) -> Asked:
        task = self.running()
        asked = Asked(self, self.peer(source, "receives from"), into, task.clock)
        self.world.links.ask(task, asked)
        return asked

    def time(self) -> float:
        return self.running().clock

    def compute(self, seconds: float) -> None:
        task = self.running()
        if not (seconds >= 0 and math.isfinite(task.clock + seconds)):
            raise ValueError(
                f"Rank {self.rank} cannot compute for {seconds} seconds: give 0 or more."
            )
        begin = task.clock
        self.world.scheduler.advance(task, begin + seconds)
        self._event("computing", begin, begin + seconds, "compute")

    def barrier(self) -> None:
        rounds = math.ceil(math.log2(self.size))
        meeting = self._meet("barrier")
        if len(meeting.come) == self.size:
            after = self.running().clock + rounds * self.world.links.latency
            meeting.complete(after, self.world.scheduler)
        self.wait_for(meeting, State(self.rank, "barrier"), "barrier")

    def shared(self, shape: Sequence[int], dtype: Any = None) -> list[Any]:
        """Zeroed torch buffers that every rank sees, one for each rank, in rank order.

        As on every engine; on this one, reading and writing them takes no virtual time.
        """
        if len(set(self.hosts)) > 1:
            raise RuntimeError(NO_COMMON_MEMORY)
        buffer = torch.zeros(tuple(shape), dtype=dtype or torch.float32)
        header = tensors.describe(buffer)
        meeting = self._meet("shared")
        if meeting.header is None:
            meeting.header = header
            meeting.buffers = [buffer.clone() for _ in range(self.size)]
        elif meeting.header != header:
            raise ValueError(
                f"Rank {meeting.come[0]} shares {meeting.header} and rank {self.rank} {header}: "
                "every rank calls comm.shared with the same shape and type."
            )
        if len(meeting.come) == self.size:
            meeting.complete(self.running().clock, self.world.scheduler)
        self.wait_for(meeting, State(self.rank, "shared"), "shared")
        return list(meeting.buffers)

    def background(self, fn: Callable[..., Any], *args: Any) -> VirtualCall:
        task = self.running()
        if task.lane:
            raise RuntimeError("A function on the communication thread cannot start another there.")
        if self._behind is None:
            self._behind = VirtualComm(self.rank, self.world)
            self._behind.task = Task(self.rank, 1, task.clock, self._work)
        job, lane = VirtualCall(self, fn, args), self._behind.task
        self._jobs.append(job)
        if lane.thread is None:
            self.world.scheduler.start(lane)
        elif lane.state is not None and lane.state.doing == "idle":
            self.world.scheduler.wake(lane, task.clock)
        return job

    def _work(self) -> None:
        """What the communication thread does: the background functions, one after the other."""
        comm = self._behind
        assert comm is not None
        while True:
            while self._jobs:
                job = self._jobs[0]
                comm.task.doing = job.name
                job.value = job.fn(comm, *job.args)
                comm.finish()
                self._jobs.popleft()
                job.complete(comm.task.clock, self.world.scheduler)
            self.world.scheduler.block(comm.task, State(self.rank, "idle"))

    def finish(self) -> None:
        """Wait for what is open at the end of a function: background work, then messages sent."""
        task = self.task
        task.ended = True
        if self._jobs:
            self._jobs[-1].wait()
        for message in list(task.unwaited.values()):
            self.wait_sent(message)
        task.ended = False

    @property
    def behind(self) -> Task | None:
        """The communication thread's task, where there is one."""
        return None if self._behind is None else self._behind.task

    def running(self) -> Task:
        """This comm's task. Raises RuntimeError where another thread calls."""
        task, scheduler = self.task, self.world.scheduler
        if scheduler.current is task and threading.get_ident() == task.ident:
            if scheduler.stopping:
                scheduler.check(task)
            return task
        if task.left:
            raise RuntimeError(
                f"Rank {self.rank}'s comm belongs to a run that is over. Use it inside the "
                "function; a generator that it returns runs only afterwards."
            )
        scheduler.check(task)
        raise RuntimeError(
            f"Rank {self.rank}'s comm is used from elsewhere than where it belongs. A background "
            "function uses the comm that it is given; threads of its own a rank cannot have."
        )

    def wait_for(self, pending: Pending, state: State, label: str, peer: int | None = None) -> None:
        """Wait until something is done, and note it; its own messages move meanwhile."""
        task = self.running()
        begin = task.clock
        self._until(pending, task, state)
        for message in sorted(task.unwaited.values(), key=lambda message: message.start):
            moving, arrived = max(begin, message.start), min(task.clock, message.arrival)
            if arrived > moving:
                self._event("waiting", begin, moving, label, peer)
                sent = f"send to {message.peer}"
                self._event("sending", moving, arrived, sent, message.peer, message.header.nbytes)
                begin = arrived
        self._event("waiting", begin, task.clock, label, peer)

    def wait_sent(self, message: Message) -> None:
        """Wait until a message is received: waiting, but for the time in which it is under way."""
        task = self.running()
        task.unwaited.pop(id(message), None)
        to, nbytes = message.peer, message.header.nbytes
        begin, label = task.clock, f"send to {to}"
        if not message.due(task):
            self._until(message, task, State(self.rank, "sending", to, nbytes, ended=task.ended))
            end = task.clock
            moving = max(begin, message.start)
            arrived = max(moving, message.arrival)
            self._event("waiting", begin, moving, label, to, nbytes)
            self._event("sending", moving, arrived, label, to, nbytes)
            self._event("waiting", arrived, end, label, to, nbytes)

    def wait_received(self, asked: Asked) -> Any:
        """The tensor that was asked for, the same each time."""
        state = State(self.rank, "receiving", asked.peer)
        self.wait_for(asked, state, f"receive from {asked.peer}", asked.peer)
        message = asked.message
        if message is None:
            return asked.value
        header, into = message.header, asked.into
        if into is None:
            asked.value = tensors.finish(header, message.data, self.device)
        else:
            source = asked.peer
            who = f"Rank {self.rank} cannot receive from rank {source} so: rank {source}"
            tensors.writable(into, header, who)
            tensors.store(into, message.data)
            asked.value = into
        asked.message = message.data = None
        return asked.value

    def _until(self, pending: Pending, task: Task, state: State) -> None:
        scheduler = self.world.scheduler
        if pending.done_at is None:
            pending.waiters.append(task)
            scheduler.block(task, state)
        elif pending.done_at > task.clock:
            scheduler.advance(task, pending.done_at)

    def _meet(self, kind: str) -> Meeting:
        task = self.running()
        number = self._meetings[kind]
        self._meetings[kind] += 1
        meeting = self.world.meetings.setdefault((kind, task.lane, number), Meeting(self))
        meeting.come.append(self.rank)
        if len(meeting.come) == self.size:
            del self.world.meetings[kind, task.lane, number]
        return meeting

    def _event(
        self,
        kind: Kind,
        start: float,
        end: float,
        label: str,
        peer: int | None = None,
        nbytes: int = 0,
    ) -> None:
        if end > start:
            lane = self.task.lane
            self.world.events.append(Event(self.rank, kind, start, end, label, peer, nbytes, lane))
