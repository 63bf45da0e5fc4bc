"""What ranks in real time share: clock, trace, status, communication thread."""

from __future__ import annotations

import functools
import os
import queue
import sys
import threading
import time
import traceback
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Any

from helpers.engine.board import Board
from helpers.engine.comm import Comm, Request
from helpers.engine.deadlock import Doing
from helpers.engine.trace import Event, Kind

_LOOK_SECONDS = 0.1


def label(doing: Doing, peer: int | None = None) -> str:
    """The name of a trace event: "send to 1", "receive from 0", "barrier"."""
    words = {"sending": "send to", "receiving": "receive from"}.get(doing, doing)
    return words if peer is None else f"{words} {peer}"


def by_one_thread(method: Callable[..., Any]) -> Callable[..., Any]:
    """A comm's method that raises RuntimeError while another thread is inside the same comm."""

    @functools.wraps(method)
    def guarded(comm: RealComm, *args: Any, **options: Any) -> Any:
        if not comm.turn.acquire(blocking=False):
            raise RuntimeError(
                f"Rank {comm.rank}'s comm is used by two threads at once, which would mix their "
                "messages. A background function uses the comm that it is given; threads that a "
                "rank starts itself leave the comm alone."
            )
        try:
            return method(comm, *args, **options)
        finally:
            comm.turn.release()

    return guarded


class Recorder:
    """What one rank did: its events, the bytes and messages it sent, and what it does now.

    board: where others can see it, or None.
    """

    def __init__(self, rank: int, board: Board | None = None) -> None:
        self.rank = rank
        self.events: list[Event] = []
        self.sent_to: Counter[int] = Counter()
        self.messages = 0
        self._board = board
        self._steps, self._doing = [0, 0], ["computing", "idle"]

    def sent(self, nbytes: int, to: int) -> None:
        """Count a message to a rank."""
        self.sent_to[to] += nbytes
        self.messages += 1

    def event(
        self, kind: Kind, start: float, label: str, peer: int | None, nbytes: int, lane: int
    ) -> None:
        """Note what began at `start` and ends now."""
        now = time.perf_counter()
        self.events.append(Event(self.rank, kind, start, now, label, peer, nbytes, lane))

    def waits(self, lane: int, doing: Doing, peer: int | None = None, nbytes: int = 0) -> None:
        """Say on the board that this lane waits, and for what."""
        self._steps[lane] += 1
        self._doing[lane] = doing
        if self._board is not None:
            self._board.write(self.rank, lane, doing, peer, nbytes, self._steps[lane])

    def goes_on(self, lane: int, doing: Doing = "computing") -> None:
        """Say on the board that this lane waits no more."""
        self.waits(lane, doing)

    def waiting(self, lane: int) -> int | None:
        """The number of the wait for another rank that a lane is in; None where it is in none."""
        among = self._doing[lane] in ("sending", "receiving", "barrier")
        return self._steps[lane] if among else None


def end_process(error: BaseException) -> None:
    """Show an exception, and end the process."""
    traceback.print_exception(error)
    sys.stderr.flush()
    os._exit(1)


class RealComm(Comm):
    """A rank on a real clock. lane: 0 for the rank's own thread, 1 for its communication thread.

    fail: ends the rank with an exception that its own thread cannot be told.
    """

    def __init__(
        self, rank: int, size: int, device: Any, recorder: Recorder, lane: int = 0
    ) -> None:
        self.rank = rank
        self.size = size
        self.device = device
        self.recorder = recorder
        self.lane = lane
        self.open: list[Request] = []
        self.turn = threading.RLock()
        self._thread: threading.Thread | None = None
        self._queue: queue.SimpleQueue[BackgroundCall | None] = queue.SimpleQueue()
        self._jobs: list[BackgroundCall] = []  # background functions that may still go on or fail
        self.fail: Callable[[BaseException], None] = end_process

    @abstractmethod
    def on_lane(self, lane: int) -> RealComm:
        """The same rank's comm for its communication thread."""

    def time(self) -> float:
        return time.perf_counter()

    def compute(self, seconds: float) -> None:
        start = time.perf_counter()
        time.sleep(seconds)
        self.recorder.event("computing", start, "compute", None, 0, self.lane)

    def background(self, fn: Callable[..., Any], *args: Any) -> Request:
        if self.lane:
            raise RuntimeError("A function on the communication thread cannot start another there.")
        if self._thread is None:
            beside = self.on_lane(1)
            beside._hosts = self._hosts
            self._thread = threading.Thread(
                target=work, args=(self._queue, beside), name="communication", daemon=True
            )
            self._thread.start()
        job = BackgroundCall(self, fn, args)
        # What has ended well is let go, and its tensors with it.
        self._jobs = [each for each in self._jobs if not each.settled()]
        self._jobs.append(job)
        self._queue.put(job)
        return job

    def wake(self, job: BackgroundCall) -> None:
        """Tell the rank's own thread that a background function has failed.

        Called on the communication thread. Whoever waits for a message would wait in vain.
        """

    def failed(self) -> list[BackgroundCall]:
        """Background functions that have raised what nobody has been told yet."""
        return [job for job in self._jobs if job.done() and not job.settled()]

    def raise_failed(self) -> None:
        """Raise what a background function has raised, unless its `wait()` has told it already."""
        for job in self.failed():
            job.wait()

    def untold(self) -> list[BaseException]:
        """What background functions have raised that nobody has been told of."""
        return [job.error for job in self.failed() if job.error is not None]

    def finish(self) -> None:
        """Wait for what the function has left open: background work, then messages sent."""
        for job in self._jobs:
            if not job.settled():
                job.wait()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        for request in list(self.open):
            request.wait()


def work(jobs: queue.SimpleQueue[BackgroundCall | None], comm: RealComm) -> None:
    """What the communication thread does: one function after the other, until there comes None."""
    while (job := jobs.get()) is not None:
        job.run(comm)


class BackgroundCall:
    """A function on the communication thread, as its caller sees it. error: what it raised."""

    def __init__(self, caller: RealComm, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._caller, self._fn, self._args = caller, fn, args
        self._done = threading.Event()
        self._value: Any = None
        self.error: BaseException | None = None
        self._told = False

    def run(self, comm: RealComm) -> None:
        """Run it, on the communication thread."""
        try:
            comm.recorder.goes_on(comm.lane)
            self._value = self._fn(comm, *self._args)
            for request in list(comm.open):
                request.wait()
        except BaseException as error:  # told by wait(), on the thread that asked for it
            self.error = error
        self._args = ()
        comm.recorder.goes_on(comm.lane, "idle")
        self._done.set()
        if self.error is not None:
            self._caller.wake(self)

    def done(self) -> bool:
        """Whether the function has returned."""
        return self._done.is_set()

    def settled(self) -> bool:
        """Whether nothing is left to be waited for: it has returned, or its error has been told."""
        return self._done.is_set() and (self.error is None or self._told)

    def wait(self) -> Any:
        """The function's value. Raises what it raised."""
        if not self._done.is_set():
            recorder, lane = self._caller.recorder, self._caller.lane
            start = time.perf_counter()
            recorder.waits(lane, "background")
            while not self._done.wait(_LOOK_SECONDS):
                self._caller.raise_failed()  # another's, without which this one may wait for ever
            recorder.goes_on(lane)
            recorder.event("waiting", start, label("background"), None, 0, lane)
        if self.error is not None:
            self._told = True
            raise self.error
        return self._value
