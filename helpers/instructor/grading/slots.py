"""The grader's side of its slots: start them, give them work, outlive whatever happens to one."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import selectors
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.instructor.grades import Mode, SubmissionGrade, from_json
from helpers.instructor.grading import GradingError
from helpers.instructor.grading.slot import Settings
from helpers.setup.places import ROOT

# Seconds for one submission, or one slot's start. The last patience and no limit: the judge counts
# what answers take, and ends long before. What this ends is not judged, and is asked once more.
PATIENCE = 3600.0
FAILED_STARTS = 3  # in a row, and grading stops
GRACE = 10.0  # seconds that a slot has for ending by itself
# A slot stays on one core: threads of its own would wait there for each other, by spinning.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class GradingJob:
    """One submission to grade."""

    id: str
    name: str
    path: Path
    seed: int


@dataclass(frozen=True)
class Answer:
    """What came of a job. grade: None where a slot or the judge failed."""

    job: GradingJob
    grade: SubmissionGrade | None
    seconds: float
    crashes: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether every exercise was judged."""
        return self.grade is not None and not self.grade.not_judged

    def or_else(self, first: Answer) -> Answer:
        """What counts of two tries of one job, this being the second."""
        return first if self.grade is None else self


class Slot:
    """One slot process, seen from the grader."""

    def __init__(
        self, number: int, lesson: str, mode: Mode, judge: str, log: Path, mistakes: str = ""
    ) -> None:
        self.number = number
        self.job: GradingJob | None = None
        self.since = time.monotonic()
        self.ready = False
        self.socket, theirs = socket.socketpair()
        settings = Settings(theirs.fileno(), os.getpid(), number, lesson, mode, judge, mistakes)
        with theirs, log.open("ab") as output:
            # A session of its own: Ctrl-C in the terminal reaches the grader only.
            self.process = subprocess.Popen(
                [sys.executable, "-m", "helpers.instructor.grading.slot", settings.as_json()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **ONE_THREAD},
                start_new_session=True,
            )
        self._left = b""

    def give(self, job: GradingJob) -> None:
        """Start grading a submission."""
        self.job, self.since = job, time.monotonic()
        told = {"path": str(job.path), "submission": job.name, "seed": job.seed}
        self._send(told)

    def hear(self) -> dict[str, Any] | None:
        """The next message, {} where it is not whole yet, None where the slot has ended."""
        try:
            more = self.socket.recv(2**16)
        except OSError:
            more = b""
        if not more:
            return None
        line, end, self._left = (self._left + more).partition(b"\n")
        if not end:
            self._left = line
            return {}
        message: dict[str, Any] = json.loads(line)
        return message

    @property
    def late(self) -> bool:
        """Whether it has been at one thing for longer than the last patience."""
        return (self.job is not None or not self.ready) and (
            time.monotonic() - self.since > PATIENCE
        )

    def end(self, kindly: bool) -> None:
        """End the process. kindly: give it time to end its sandboxes itself."""
        if kindly and self.process.poll() is None:
            self._send(None)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)
        self.process.kill()
        self.process.wait()
        self.socket.close()

    def _send(self, message: dict[str, Any] | None) -> None:
        with contextlib.suppress(OSError):  # it has ended, which `hear` will say
            self.socket.sendall(json.dumps(message).encode("ascii") + b"\n")


class Slots:
    """A number of slots that grade a list of jobs. Use it in a `with` block, in the main thread.

    (The system ends a slot with the thread that started it.) mistakes: as in `Wish`.
    """

    def __init__(self, lesson: str, mode: Mode, judge: str, log: Path, mistakes: str = "") -> None:
        self._start = lambda number: Slot(number, lesson, mode, judge, log, mistakes)
        self._log = log
        self._slots: list[Slot] = []
        self._selector = selectors.DefaultSelector()
        self._failed_starts = 0

    def __enter__(self) -> Slots:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        for slot in list(self._slots):
            self._drop(slot, kindly=kind is None)
        self._selector.close()

    def grade(self, jobs: Sequence[GradingJob], slots: int) -> Iterator[Answer]:
        """Grade jobs on so many slots; the answers as they come.

        A job that was not judged in full, or at which a slot or the judge failed, is tried once
        more at the end, on a new slot that has the machine for itself. Raises GradingError where no
        slot can be started.
        """
        again: list[Answer] = []
        for answer in self._round(jobs, slots):
            if answer.is_whole:
                yield answer
            else:
                again.append(answer)
        for first in again:
            self.rest()
            for answer in self._round([first.job], 1):
                yield answer.or_else(first)

    def _round(self, jobs: Sequence[GradingJob], most: int) -> Iterator[Answer]:
        waiting = deque(jobs)
        while waiting or self.at_work:
            yield from self.turn(waiting, most)

    @property
    def at_work(self) -> int:
        """How many submissions are being graded."""
        return sum(slot.job is not None for slot in self._slots)

    def turn(
        self, waiting: deque[GradingJob], most: int, patience: float = 1.0
    ) -> Iterator[Answer]:
        """Give out work, then wait so many seconds at most for what slots have to say.

        waiting: what is given out is taken from its left. Raises GradingError.
        """
        self._employ(waiting, most)
        for slot in self._heard(patience):
            message = None if slot.late else slot.hear()
            if message is None or "failed" in message:
                job, seconds = slot.job, time.monotonic() - slot.since
                self._lose(slot)
                if job is not None:
                    yield Answer(job, None, seconds)
            elif "ready" in message:
                slot.ready, self._failed_starts = True, 0
            elif "unable" in message:
                raise GradingError(f"Grading cannot start: {message['unable']}")
            elif "grade" in message and slot.job is not None:
                job, slot.job = slot.job, None
                grade = from_json(message["grade"])
                yield Answer(job, grade, message["seconds"], message["crashes"])

    def add(self) -> None:
        """Start one more slot, before there is work for it or with the work."""
        taken = {slot.number for slot in self._slots}
        slot = self._start(next(n for n in itertools.count() if n not in taken))
        self._slots.append(slot)
        self._selector.register(slot.socket, selectors.EVENT_READ, slot)

    def rest(self) -> None:
        """End all slots; new ones start with the next job."""
        for slot in list(self._slots):
            self._drop(slot, kindly=True)

    def _employ(self, waiting: deque[GradingJob], most: int) -> None:
        """Give work to whoever is free, and start slots while there is more work than slots."""
        for slot in self._slots:
            if waiting and slot.ready and slot.job is None:
                slot.give(waiting.popleft())
        starting = sum(not slot.ready for slot in self._slots)
        while len(self._slots) < most and starting < len(waiting):
            self.add()
            starting += 1

    def _heard(self, patience: float) -> list[Slot]:
        """The slots that have something to say, and those that are late."""
        heard = [key.data for key, _ in self._selector.select(timeout=patience)]
        return heard + [slot for slot in self._slots if slot.late and slot not in heard]

    def _lose(self, slot: Slot) -> None:
        """Drop a slot that failed."""
        if not slot.ready:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                raise GradingError(
                    f"Grading cannot start: its processes end at once; {self._log} may say why."
                )
        self._drop(slot, kindly=False)

    def _drop(self, slot: Slot, kindly: bool) -> None:
        self._selector.unregister(slot.socket)
        self._slots.remove(slot)
        slot.end(kindly)
