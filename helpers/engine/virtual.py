"""The engine on a virtual clock: every rank in this process, deterministic, every byte counted."""

from __future__ import annotations

import io
import math
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any

import torch

from helpers.engine import places
from helpers.engine.board import show_output
from helpers.engine.copies import Copies, RandomStates
from helpers.engine.deadlock import State, duration, place_lines, rank_words, sentences, tell
from helpers.engine.errors import Deadlock, RankFailed, RunError, RunInterrupted, RunTimeout
from helpers.engine.hosts.network import Bandwidth, Network, bytes_a_second
from helpers.engine.rank import describe_failure
from helpers.engine.report import raised, said
from helpers.engine.scheduler import Scheduler, Task
from helpers.engine.trace import RankStats, Results, Stats, Trace
from helpers.engine.virtual_comm import VirtualComm, World
from helpers.engine.virtual_links import Hosts

_active: list[VirtualRun] = []
_guard = threading.Lock()


def run_virtual(
    fn: Callable[..., Any],
    args: Sequence[Any],
    ranks: int,
    timeout: float | None = 60.0,
    latency: float = 50e-6,
    bandwidth: str | float = 1e9,
    show: bool = True,
    network: Network | None = None,
    switch: Bandwidth = None,
) -> Results:
    """Run `fn(comm, *args)` for every rank on a virtual clock and return what the ranks return.

    latency: seconds that each message takes beside its bytes. bandwidth: bytes a second of each
    link, `math.inf` for links that take no time for bytes. Only messages, barriers and
    `comm.compute(seconds)` move the clock. timeout: real seconds; None for no limit.
    show: print what the ranks printed, rank after rank, when the run is over.
    network: the hosts that ranks share, with the bandwidth of each one's link. switch: what may
    pass between all hosts together.

    Each rank has its own copy of the arguments, and of what a function from a cell refers to, and
    its own random state, which starts as the caller's. Raises RankFailed, Deadlock, RunTimeout,
    RunInterrupted; RunError where another thread has a virtual run under way.
    """
    if not (math.isfinite(latency) and latency >= 0):
        raise ValueError(f"latency={latency} is not possible: give 0 or more seconds.")
    each = bytes_a_second(bandwidth) or math.inf
    hosts = None
    if network is not None:
        links = tuple(link or math.inf for link in network.bandwidth)
        hosts = Hosts(network.hosts, links, bytes_a_second(switch) or math.inf)
    run = VirtualRun(fn, args, ranks, latency, each, hosts)
    with _guard:
        # Ranks share this process's stdout and random state: a second run has to be inside a rank.
        if _active and not _active[-1].owns(threading.get_ident()):
            raise RunError(
                "Another thread has a virtual run under way, and there can be one at a time: "
                "wait for it, or use engine='processes'."
            )
        _active.append(run)
    try:
        return run.results(timeout)
    finally:
        with _guard:
            del _active[_active.index(run) :]  # with any run inside it that was cut off
        if show:
            show_output(run.output())


class VirtualRun:
    """One run, from its start to its report."""

    def __init__(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any],
        ranks: int,
        latency: float,
        bandwidth: float,
        hosts: Hosts | None = None,
    ) -> None:
        self.size = ranks
        self._copies = Copies(fn, tuple(args))
        self._scheduler = Scheduler(self._switch)
        self._world = World(self._scheduler, ranks, latency, bandwidth, hosts)
        self._comms = [VirtualComm(rank, self._world) for rank in range(ranks)]
        for rank, comm in enumerate(self._comms):
            comm.task = Task(rank, 0, 0.0, partial(self._body, comm))
        self._values: list[Any] = [None] * ranks
        self._written = [io.StringIO() for _ in range(ranks)]
        self._streams: list[tuple[Any, Any]] = [(text, text) for text in self._written]
        self._random: RandomStates | None = None
        self._clock = 0.0

    def owns(self, ident: int) -> bool:
        """Whether a thread is the one of this run that may go on now."""
        task = self._scheduler.current
        return task is not None and task.ident == ident

    def output(self) -> list[str]:
        """What each rank has printed."""
        return [text.getvalue() for text in self._written]

    def results(self, timeout: float | None) -> Results:
        """Run, and put the ranks' answers together, or tell what went wrong."""
        streams, threads = (sys.stdout, sys.stderr), torch.get_num_threads()
        self._random = RandomStates(self.size)
        error: BaseException | None = None
        try:
            # As on the processes engine, and with a pool of threads for no rank's thread.
            torch.set_num_threads(1)
            for comm in self._comms:
                self._scheduler.start(comm.task)
            in_time = self._scheduler.run(timeout)
            error = self._trouble() if in_time else self._late(timeout)
        except KeyboardInterrupt:
            error = RunInterrupted(f"The run was interrupted: {self._told()}")
        finally:
            try:
                left = self._scheduler.stop()
            finally:
                sys.stdout, sys.stderr = streams
                self._random.restore()
                torch.set_num_threads(threads)
        if error is not None:
            if left and isinstance(error, RunError):
                names = rank_words(sorted({task.rank for task in left}))
                error.report += f"\nThe thread of {names} could not be ended."
                error.args = (error.report,)
            raise error
        return self._collect()

    def _body(self, comm: VirtualComm) -> None:
        fn, args = self._copies.take()
        self._values[comm.rank] = fn(comm, *args)
        comm.finish()

    def _switch(self, leave: int | None, enter: int) -> None:
        """Another rank goes on: give it its stdout and its random state."""
        if leave is not None:
            self._streams[leave] = (sys.stdout, sys.stderr)
        sys.stdout, sys.stderr = self._streams[enter]
        assert self._random is not None
        self._random.switch(leave, enter)

    def _collect(self) -> Results:
        links = self._world.links
        clocks = [comm.task.clock for comm in self._comms]
        nbytes = [sum(sent.values()) for sent in links.sent]
        rows = map(RankStats, nbytes, links.messages, clocks)
        trace = Trace(self._world.events, self.size, virtual=True)
        values = [self._copies.returned(value) for value in self._values]
        return Results(values, trace, Stats(rows, links.sent, self._world.hosts), self.output())

    def _trouble(self) -> RunError | None:
        """What went wrong in a run in which no task can go on."""
        if self._scheduler.failure is not None:
            return self._failed(*self._scheduler.failure)
        if all(comm.task.finished for comm in self._comms):
            return None
        report, waiting = tell(self._states(), self._now())
        return Deadlock(report, waiting)

    def _failed(self, task: Task, error: BaseException) -> RankFailed:
        error.__traceback__ = places.without_engine(error.__traceback__)
        failure = describe_failure(error)
        where = f" (in its background {task.doing})" if task.lane else ""
        report = f"Rank {task.rank} of {self.size} raised {said(failure)}{where}\n"
        report += raised(task.rank, failure)
        states = self._states()
        others = [s for s in states if s.rank != task.rank and (s.waits or s.doing == "returned")]
        if others:
            report += f"\nThat was at {duration(task.clock)}; {sentences(others, states)}."
        failed = RankFailed(report, task.rank, failure.kind, failure.message)
        failed.__cause__ = error
        return failed

    def _late(self, timeout: float | None) -> RunTimeout:
        task = self._scheduler.current
        states = self._states()
        running = [task.rank] if task is not None else []
        unfinished = [s.rank for s in states if s.doing != "returned" and s.rank not in running]
        return RunTimeout(
            f"After {timeout:g} s the run was ended: {self._told()}\n"
            "A longer run needs helpers.run(..., timeout=seconds).",
            (*running, *unfinished),
        )

    def _told(self) -> str:
        states = self._states()
        return "\n".join([f"{sentences(states)}.", *place_lines(states)])

    def _now(self) -> float:
        return max(task.clock for task in self._scheduler.tasks)

    def _states(self) -> list[State]:
        """What every rank is doing, and where in its code."""
        frames = dict(self._scheduler.frames())
        return [_state(comm, frames, self._scheduler.current) for comm in self._comms]


def _state(comm: VirtualComm, frames: dict[Task, FrameType | None], current: Task | None) -> State:
    told: list[State] = []
    for task in (comm.behind, comm.task):
        if task is None or (task.lane and task.state and task.state.doing == "idle"):
            continue
        if task.finished:
            told.append(State(comm.rank, "returned"))
            continue
        state = task.state or State(comm.rank, "computing" if task is current else "ready")
        place = places.place(frames.get(task))
        told.append(replace(state, place=place, background=told[0] if told else None))
    return told[-1]
