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

    __slots__ = ("buffers", "come", "header")

    def __init__(self) -> None:
        super().__init__()
        self.come: list[int] = []
        self.header: tensors.Header | None = None
        self.buffers: list[torch.Tensor] = []


class Lane(Task):
    """A task with what its comm keeps: messages that nobody has waited for, and its jobs."""

    def __init__(self, rank: int, lane: int, clock: float, body: Callable[[], None]) -> None:
        super().__init__(rank, lane, clock, body)
        self.unwaited: dict[int, Message] = {}
        self.doing = ""
        self.ended = False


class Request:
    """A communication under way, as rank code sees it."""

    def __init__(self, comm: VirtualComm, pending: Pending) -> None:
        self.comm, self.pending = comm, pending

    def done(self) -> bool:
        """Whether `wait` would return at once. Asked again and again, it lets the others go on."""
        task = self.comm.running()
        pending = self.pending
        if not due(pending, task) and pending.looked_at == task.clock:
            self.comm.world.scheduler.let_others(task, pending.done_at)
        pending.looked_at = task.clock
        return due(pending, task)


def due(pending: Pending, task: Task) -> bool:
    """Whether something is done by the time on a task's clock."""
    return pending.done_at is not None and pending.done_at <= task.clock


class SendRequest(Request):
    """A message on its way; done once it has been received."""

    def wait(self) -> None:
        """Block until the receiver has taken the message."""
        comm, message = self.comm, self.pending
        assert isinstance(message, Message)
        comm.running().unwaited.pop(id(message), None)
        comm.wait_sent(message)


class ReceiveRequest(Request):
    """A message asked for."""

    def wait(self) -> Any:
        """The tensor. Raises ValueError where it does not fit `into`."""
        asked = self.pending
        assert isinstance(asked, Asked)
        comm, label = self.comm, f"receive from {asked.peer}"
        comm.wait_for(asked, State(comm.rank, "receiving", asked.peer), label, asked.peer)
        return comm.take(asked)


class VirtualCall(Pending):
    """A background function, from its call to its end."""

    __slots__ = ("args", "begun", "fn", "value")

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], begun: float) -> None:
        super().__init__()
        self.fn, self.args, self.begun = fn, args, begun
        self.value: Any = None

    @property
    def name(self) -> str:
        """What the function is called."""
        return str(getattr(self.fn, "__name__", type(self.fn).__name__))


class JobRequest(Request):
    """A background function under way."""

    def wait(self) -> Any:
        """The function's value."""
        job = self.pending
        assert isinstance(job, VirtualCall)
        state = State(self.comm.rank, "background", what=job.name)
        self.comm.wait_for(job, state, f"wait for {job.name}")
        return job.value


class VirtualComm(Comm):
    """A rank on the virtual clock, or its communication thread (lane 1)."""

    device = CPU

    def __init__(self, rank: int, world: World) -> None:
        self.rank = rank
        self.size = world.size
        self.world = world
        self.task: Lane
        self._meetings = {"barrier": 0, "shared": 0}
        self._behind: VirtualComm | None = None
        self._jobs: deque[VirtualCall] = deque()

    @property
    def hosts(self) -> tuple[int, ...]:
        return self.world.hosts

    def isend(self, tensor: Any, to: int) -> SendRequest:
        task = self.running()
        to = self.peer(to, "sends to")
        if isinstance(tensor, tensors.Packed):
            return self._post(task, to, tensor.header, tensor.data)
        header, data = tensors.snapshot(tensor)
        return self._post(task, to, header, data)

    def _post(self, task: Lane, to: int, header: tensors.Header, data: Any) -> SendRequest:
        message = self.world.links.send(task, to, header, data)
        task.unwaited[id(message)] = message
        return SendRequest(self, message)

    def irecv(self, source: int, into: Any = None) -> ReceiveRequest:
        task = self.running()
        source = self.peer(source, "receives from")
        return ReceiveRequest(self, self.world.links.ask(task, source, into))

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

    def background(self, fn: Callable[..., Any], *args: Any) -> JobRequest:
        task = self.running()
        if task.lane:
            raise RuntimeError("A function on the communication thread cannot start another there.")
        if self._behind is None:
            self._behind = VirtualComm(self.rank, self.world)
            self._behind.task = Lane(self.rank, 1, task.clock, self._work)
        job, lane = VirtualCall(fn, args, task.clock), self._behind.task
        self._jobs.append(job)
        if lane.thread is None:
            self.world.scheduler.start(lane)
        elif lane.state is not None and lane.state.doing == "idle":
            self.world.scheduler.wake(lane, task.clock)
        return JobRequest(self, job)

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
            JobRequest(self, self._jobs[-1]).wait()
        for message in list(task.unwaited.values()):
            self.wait_sent(message)
        task.unwaited.clear()
        task.ended = False

    @property
    def behind(self) -> Lane | None:
        """The communication thread's task, where there is one."""
        return None if self._behind is None else self._behind.task

    def running(self) -> Lane:
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
        to, nbytes = message.peer, message.header.nbytes
        begin, label = task.clock, f"send to {to}"
        if not due(message, task):
            self._until(message, task, State(self.rank, "sending", to, nbytes, ended=task.ended))
            end = task.clock
            moving = max(begin, message.start)
            arrived = max(moving, message.arrival)
            self._event("waiting", begin, moving, label, to, nbytes)
            self._event("sending", moving, arrived, label, to, nbytes)
            self._event("waiting", arrived, end, label, to, nbytes)

    def take(self, asked: Asked) -> Any:
        """The tensor of a message that has been received, the same each time."""
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

    def _until(self, pending: Pending, task: Lane, state: State) -> None:
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
        meeting = self.world.meetings.setdefault((kind, task.lane, number), Meeting())
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
