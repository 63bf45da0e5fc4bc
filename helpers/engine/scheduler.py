"""Tasks that take turns: a thread each, one running at a time, the one with the least clock first.

The running task holds the baton. It hands it on when it has to wait, and when its clock has moved
past that of a task that could run: so whatever ranks do to each other happens in the order of
time, and a run is the same each time. When no task can run, the baton goes back to `run`.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from types import FrameType
from typing import Any

from helpers.engine.deadlock import State
from helpers.engine.own_time import of_others_here
from helpers.engine.places import is_engine

_POLL_SECONDS = 0.1  # so often the waiting thread looks whether it is to be stopped itself
_STOP_SECONDS = 2.0  # so long a task that does not want to end is asked to
_LOOKING = sys.maxsize  # where the order at one time has the rank: after every rank
_POLITE = 6  # so many times it is asked before it is traced


class Stopped(SystemExit):
    """Ends a task when the run is over. Not caught by `except Exception`; silent in a thread."""


class StoppedHard(Stopped):
    """Ends a task that catches everything, also from within its handlers.

    Made in the task's own thread, it traces that thread, so that the next line raises again.
    """

    def __init__(self) -> None:
        super().__init__()
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if not is_engine(frame.f_code.co_filename):
                frame.f_trace = _stop_at_line
            frame = frame.f_back
        sys.settrace(lambda *_: None)  # leaves calls alone, such as those of destructors


def _stop_at_line(frame: FrameType, event: str, arg: Any) -> Any:
    if event == "line":
        raise Stopped
    return _stop_at_line


class Task:
    """Something that runs on a rank: its function (lane 0), or its background functions (lane 1).

    clock: virtual seconds. state: what it waits for, None while it can run. doing: the name of its
    background function. unwaited: its messages that nobody has waited for. ended: whether its
    function has returned, and what is open is waited for.
    """

    def __init__(self, rank: int, lane: int, clock: float, body: Callable[[], None]) -> None:
        self.rank, self.lane, self.clock, self.body = rank, lane, clock, body
        self.state: State | None = None
        self.finished = False
        self.doing, self.ended = "", False
        self.unwaited: dict[int, Any] = {}
        self.stops = 0
        self.baton = threading.Lock()
        self.baton.acquire()
        self.thread: threading.Thread | None = None
        self.left = False
        self._asked = self._deaf = False
        self._asking = threading.Lock()
        self._gone = threading.Lock()
        self._gone.acquire()

    @property
    def ident(self) -> int:
        """The thread's number."""
        return (self.thread.ident or 0) if self.thread is not None else 0

    @property
    def alive(self) -> bool:
        """Whether its thread is under way."""
        return self.ident != 0 and not self.left

    def wait_gone(self, seconds: float) -> None:
        """Wait a while for the thread's end.

        Thread.join would take a thread for ended when an interrupt cuts the wait short.
        """
        if self._gone.acquire(timeout=seconds) and self.thread is not None:
            self.thread.join(_POLL_SECONDS)

    def ask_to_end(self, kind: type[Stopped]) -> None:
        """Raise an exception in the task's thread, wherever in Python code it is."""
        with self._asking:
            if not self._deaf:
                self._asked = True
                _raise_in(self.ident, kind)

    def leave(self) -> None:
        """The last thing that a task does: from now on nobody raises anything in its thread."""
        with self._asking:
            self._deaf = True
        if self._asked:
            _take_what_was_asked()
        self.left = True
        self._gone.release()


def _raise_in(ident: int, kind: type[Stopped]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(kind))


def _take_what_was_asked() -> None:
    """Have nothing be on its way to this thread any more.

    Once asked, Python looks for what it has to raise until it has raised something, and 3.11 hangs
    if it traces or profiles meanwhile, as under %prun. To take it back instead (None in its place)
    would leave it looking for ever.
    """
    try:
        _raise_in(threading.get_ident(), Stopped)  # in place of what is there, if anything is
        while True:
            pass
    except Stopped:
        return


class Scheduler:
    """Hands the baton from task to task. on_switch(leave, enter) is told when the rank changes."""

    def __init__(self, on_switch: Callable[[int | None, int], None]) -> None:
        self.tasks: list[Task] = []
        self.current: Task | None = None
        self.stopping = False
        self.failure: tuple[Task, BaseException] | None = None
        self._ready: list[tuple[float, int, int, Task]] = []
        self._over = threading.Lock()
        self._over.acquire()
        self._on_switch = on_switch
        self._rank: int | None = None
        self._polls = 0

    def start(self, task: Task) -> None:
        """Give a task its thread; it can run from its clock on."""
        context = contextvars.copy_context()
        task.thread = threading.Thread(
            target=context.run, args=(self._live, task), name=f"rank {task.rank}", daemon=True
        )
        self.tasks.append(task)
        task.thread.start()
        self.wake(task, task.clock)

    def _live(self, task: Task) -> None:
        """A task's whole life, in its thread."""
        went = False
        while True:
            try:
                if not went:
                    went = True
                    self._go(task)
                sys.settrace(None)
                task.leave()
                return
            except Stopped:  # asked to end, maybe even here
                continue

    def _go(self, task: Task) -> None:
        if self.stopping:
            return
        task.baton.acquire()
        try:
            if not self.stopping:
                task.body()
        except Stopped:
            return
        except BaseException as error:
            if not self.stopping:
                self.failure = task, error
                self._over.release()
            return
        if not self.stopping:
            task.finished = True
            self._hand_on()

    def wake(self, task: Task, clock: float) -> None:
        """A task can run again, from `clock` on."""
        task.state = None
        if clock > task.clock:
            task.clock = clock
        heappush(self._ready, (task.clock, task.rank, task.lane, task))

    def block(self, task: Task, state: State) -> None:
        """The running task waits until somebody wakes it."""
        self.check(task)
        task.state = state
        self._hand_on()
        self._park(task)

    def advance(self, task: Task, clock: float) -> None:
        """Move the running task's clock on; tasks that are earlier now run first."""
        task.clock = clock
        ready = self._ready
        if ready and ready[0] < (clock, task.rank, task.lane):
            heappush(ready, (clock, task.rank, task.lane, task))
            self._hand_on()
            self._park(task)

    def let_others(self, task: Task, at_most: float | None) -> None:
        """The running task looks at something again and again: on to when the next thing happens.

        at_most: a time at which what it looks for will have happened, where that is known.
        """
        # Another task that only looks, at the same time, is no event to wait for.
        times = [t for t, order, *_ in self._ready if order != _LOOKING or t > task.clock]
        times += [] if at_most is None else [at_most]
        task.clock = max(task.clock, min(times, default=task.clock))
        self._polls += 1
        # Behind the tasks of the same time, which otherwise would never get their turn.
        heappush(self._ready, (task.clock, _LOOKING, self._polls, task))
        self._hand_on()
        self._park(task)

    def _hand_on(self) -> None:
        if not self._ready:
            self.current = None
            self._over.release()
            return
        task = heappop(self._ready)[3]
        self.current = task
        if task.rank != self._rank:
            self._on_switch(self._rank, task.rank)
            self._rank = task.rank
        task.baton.release()

    def _park(self, task: Task) -> None:
        task.baton.acquire()
        if self.stopping:
            self.check(task)

    def check(self, task: Task) -> None:
        """Raise Stopped in a task of a run that is over."""
        if self.stopping:
            task.stops += 1
            raise StoppedHard if task.stops > _POLITE else Stopped

    # --- what the thread that started the run does ---

    def run(self, timeout: float | None) -> bool:
        """Let the tasks run until none can, or one fails; False where the time is up first."""
        own = None if timeout is None else of_others_here()
        self._hand_on()
        while not self._over.acquire(timeout=_POLL_SECONDS):
            if own is not None and timeout is not None and own.look_if_due().taken >= timeout:
                return False
        return True

    def stop(self) -> list[Task]:
        """End every task, one after the other; returns those that would not end.

        An interrupt meanwhile is put off: nothing may be left running.
        """
        self.stopping = True
        interrupt: BaseException | None = None
        for task in self.tasks:
            since, asked = time.monotonic(), 0
            while task.alive and time.monotonic() < since + _STOP_SECONDS:
                asked += 1
                try:
                    self._end(task, asked)
                except (KeyboardInterrupt, Stopped) as error:
                    interrupt = error
        left = [task for task in self.tasks if task.alive]
        if left:  # what they are asked comes once they are back from where they are
            looks = threading.Thread(target=_take_what_was_asked, daemon=True)
            looks.start()
            looks.join(_STOP_SECONDS)
        if interrupt is not None:
            raise interrupt
        return left

    def _end(self, task: Task, asked: int) -> None:
        """Ask a task to end, more firmly each time, and wait a little."""
        if task.rank != self._rank:
            self._on_switch(self._rank, task.rank)
            self._rank = task.rank
        with contextlib.suppress(RuntimeError):  # it was not parked
            task.baton.release()
        if asked > 1:
            task.ask_to_end(StoppedHard if asked > _POLITE else Stopped)
        task.wait_gone(min(0.001 * 2**asked, _POLL_SECONDS))

    def frames(self) -> Iterator[tuple[Task, FrameType | None]]:
        """Each task that has not finished, with the frame that its thread is in."""
        frames = sys._current_frames()
        for task in self.tasks:
            if not task.finished:
                yield task, frames.get(task.ident)
