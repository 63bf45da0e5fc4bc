"""Communications under way on the virtual clock, as rank code sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from helpers.engine.deadlock import State
from helpers.engine.scheduler import Task
from helpers.engine.virtual_links import Asked, Message, Pending

if TYPE_CHECKING:
    from helpers.engine.virtual_comm import VirtualComm


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
