"""Workers of a search: real processes, each with a job at a time, and told of when they end."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from helpers.engine.places import PROJECT
from helpers.engine.wire import receive_message, send_message
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.crew_line import Line, packed

Train = Callable[[Job, Any], tuple[float, Any]]
PRELOAD = ("torch", "helpers.lessons.search.experiments.search_models")
START_SECONDS, END_SECONDS = 600.0, 5.0


class SearchFailed(RuntimeError):
    """A search that cannot go on; the text names the worker and the trial."""


class Nursery:
    """The process that workers are forked from; searches, one after the other, may share it.

    preload: modules that it loads first, and whose function `warm`, if there is one, it calls, in
    which nothing may compute on several threads. A context: when it ends, no worker is left. Raises
    SearchFailed where it does not start.
    """

    def __init__(self, preload: Sequence[str] = PRELOAD) -> None:
        if not hasattr(os, "fork"):
            raise SearchFailed("Workers of a search are forked, and this system cannot fork.")
        self.socket, theirs = socket.socketpair()
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        path = [PROJECT, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(path)
        command = [sys.executable, "-m", "helpers.lessons.search.experiments.crew_nursery"]
        with theirs:
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno()), *preload],
                pass_fds=[theirs.fileno()],
                env=environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self.socket.settimeout(START_SECONDS)
        word = self._ask(None)
        if word != "ready":
            self.close()
            raise SearchFailed(f"Workers cannot start here: {word}.")

    def fork(self, train: bytes) -> tuple[int, socket.socket]:
        """Start a worker: its process id, and the socket to it."""
        ours, theirs = socket.socketpair()
        path = [each or os.getcwd() for each in sys.path]
        with theirs:
            request = ("start", (train, path, os.getcwd()))
            try:
                return self._ask(request, theirs.fileno()), ours
            except BaseException:
                ours.close()
                raise

    def end(self, pid: int) -> int:
        """End a worker, if it has not ended yet; how it ended, as `subprocess` says it."""
        return int(self._ask(("end", pid)))

    def close(self) -> None:
        """End all workers and the nursery itself."""
        self.socket.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.wait()

    def _ask(self, request: Any, *fds: int) -> Any:
        try:
            if request is not None:
                send_message(self.socket, pickle.dumps(request), fds)
            return pickle.loads(receive_message(self.socket)[0])
        except BaseException as error:
            self.close()  # an answer may still come, and would be taken for the next one's
            if isinstance(error, TimeoutError):
                raise SearchFailed(
                    f"The process that starts workers did not answer within {START_SECONDS:g} s. "
                    "Is the machine overloaded?"
                ) from None
            if isinstance(error, EOFError | OSError):
                raise SearchFailed(
                    "The process that starts workers has ended. Was memory short?"
                ) from None
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Worker(NamedTuple):
    """A process. number: from 0; the one that takes a dead one's place has a number of its own."""

    number: int
    pid: int
    line: Line


class Told(NamedTuple):
    """What has come from a worker: "loss", "failed", or "gone" with why as the value."""

    worker: Worker
    what: str
    value: Any


class Crew:
    """So many workers that train with one function. A context: none is left when it ends."""

    def __init__(self, train: Train, size: int, nursery: Nursery | None = None) -> None:
        if size < 1:
            raise ValueError(f"A search needs 1 worker or more, not {size}.")
        try:
            self.train = packed(train)
        except Exception as error:
            raise TypeError(
                f"{getattr(train, '__name__', train)!s} cannot be sent to workers: {error}. Open "
                "files, locks and generators stay here: make them inside the function."
            ) from error
        self.own = nursery is None
        self.nursery = Nursery() if nursery is None else nursery
        self.workers: dict[int, Worker] = {}
        self.hired, self._lock = 0, threading.Lock()
        self._selector = selectors.DefaultSelector()
        try:
            for _ in range(size):
                self.hire()
        except BaseException:
            self.close()
            raise

    def hire(self) -> Worker:
        """Start one more worker."""
        pid, sock = self.nursery.fork(self.train)
        worker = Worker(self.hired, pid, Line(sock))
        self.hired += 1
        with self._lock:
            self.workers[worker.number] = worker
        self._selector.register(sock, selectors.EVENT_READ, worker)
        return worker

    def give(self, worker: Worker, job: Job, state: Any) -> None:
        """Send a worker its job, and what the trial goes on from."""
        worker.line.put(packed((job, state)))
        self._watch(worker)

    def wait(self, seconds: float) -> list[Told]:
        """What has come within so many seconds; [] where nothing did."""
        found = []
        for key, _ in self._selector.select(max(0.0, seconds)):
            worker: Worker = key.data
            if worker.number not in self.workers:
                continue
            worker.line.flush()
            found += [Told(worker, what, value) for what, value in worker.line.take()]
            if worker.line.open:
                self._watch(worker)
            else:
                found.append(Told(worker, "gone", ended(self.end(worker))))
        return found

    def end(self, worker: Worker) -> int:
        """End a worker and forget it; how it ended, as `subprocess` says it."""
        with self._lock:  # from here on its number may be another process's
            self._selector.unregister(worker.line.socket)
            worker.line.close()
            del self.workers[worker.number]
            return self.nursery.end(worker.pid)

    def kill_one(self, chance: random.Random, killed: list[int]) -> None:
        """SIGKILL a worker that lives, whatever it does, and note its number. From any thread."""
        with self._lock:
            numbers = sorted(self.workers.keys() - set(killed))
            if numbers:
                killed.append(chance.choice(numbers))
                os.kill(self.workers[killed[-1]].pid, signal.SIGKILL)

    def close(self) -> None:
        """End all workers."""
        try:
            for worker in list(self.workers.values()):
                with contextlib.suppress(SearchFailed):
                    self.end(worker)
        finally:
            self._selector.close()
            if self.own:
                self.nursery.close()

    def _watch(self, worker: Worker) -> None:
        both = selectors.EVENT_READ | selectors.EVENT_WRITE
        events = both if worker.line.unsent else selectors.EVENT_READ
        self._selector.modify(worker.line.socket, events, worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Killer:
    """Kills workers of a crew at given moments, in a thread: in the middle of anything.

    moments: seconds from the start. A context; killed: the workers' numbers.
    """

    def __init__(self, crew: Crew, moments: Sequence[float], seed: int) -> None:
        self.crew, self.moments = crew, sorted(moments)
        self.killed: list[int] = []
        self.chance, self.stop = random.Random(seed), threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True, name="killer")

    def run(self) -> None:
        """Wait for each moment, and kill."""
        begin = time.monotonic()
        for moment in self.moments:
            if self.stop.wait(max(0.0, begin + moment - time.monotonic())):
                return
            self.crew.kill_one(self.chance, self.killed)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop.set()
        self.thread.join()


def ended(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended by itself with exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
