"""Slots: processes that hold one judge each and grade a submission at a time.

A slot that dies, hangs or fails costs nothing but the submission that it had, and ends with the
grader, whatever ends that.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection, wait
from typing import Any

from helpers.course.setup.places import ROOT
from helpers.grade.discover import Submission
from helpers.grade.grades import SubmissionGrade
from helpers.grade.wish import GradingError, Wish

# Seconds for one submission. The last patience and no limit: the judge counts what answers take,
# and ends long before. What this ends is not judged, and is asked once more.
PATIENCE = 3600.0
GRACE = 10.0  # seconds that a slot has for ending its sandboxes itself
MOST_SLOTS = 700  # of all graders on one machine; the sandboxes' user ids end there
PR_SET_PDEATHSIG = 1
LOG = "run/slots.log"


@dataclass(frozen=True)
class Job:
    """One submission to grade. terms: what its grade goes by; digest: of them and the notebook."""

    submission: Submission
    seed: int
    terms: str
    digest: str


@dataclass(frozen=True)
class Answer:
    """What came of a job. grade: None where a slot or the judge failed."""

    job: Job
    grade: SubmissionGrade | None
    seconds: float = 0.0
    crashes: int = 0


# --- in the slot's process ------------------------------------------------------------------------


def work(channel: Connection, parent: int, wish: Wish) -> None:
    """Grade what is sent until None is. Says "ready" first, or why there is no judge."""
    os.setsid()  # Ctrl-C in the terminal is the grader's to handle
    if sys.platform == "linux":  # the system kills it when its parent ends
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return  # it ended before we could ask
    os.set_inheritable(channel.fileno(), False)
    with open(wish.out / LOG, "ab") as log:
        for output in (1, 2):
            os.dup2(log.fileno(), output)
    os.chdir(ROOT)
    # A slot stays on one core: threads of its own would wait there for each other, by spinning.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    with contextlib.ExitStack() as kept:
        try:
            judge = _judge(wish, kept)
        except Exception as error:
            traceback.print_exc()
            channel.send(f"{type(error).__name__}: {error}")
            return
        channel.send("ready")
        while (job := channel.recv()) is not None:
            channel.send(graded(judge, job))


def _judge(wish: Wish, kept: contextlib.ExitStack) -> Any:
    from helpers.grade.sandbox.limits import stay_on_one

    name, _, attribute = wish.judge.partition(":")
    number = _own_number(kept) if sys.platform == "linux" else 0
    stay_on_one(number)
    judge = getattr(import_module(name), attribute)(wish.lesson, wish.mode, number)
    kept.callback(judge.close)
    if wish.mistakes:
        judge.learn(wish.mistakes)
    return judge


def _own_number(kept: contextlib.ExitStack) -> int:
    """A number that no other slot on this machine has, whichever grader it belongs to.

    The numbers are names of abstract sockets: the system gives one out once, and takes it back when
    the process ends.
    """
    for number in range(MOST_SLOTS):
        holder = kept.enter_context(socket.socket(socket.AF_UNIX))
        with contextlib.suppress(OSError):
            holder.bind(f"\0distributed-course-slot-{number}")
            return number
    raise RuntimeError(f"{MOST_SLOTS} slots are at work on this machine already.")


def graded(judge: Any, job: Job) -> Answer:
    """The answer to one job; the judge's own failure is in full in the log."""
    one = job.submission
    try:
        made = judge.grade(one.path, one.name, job.seed)
    except Exception:
        print(f"While grading {one.name!r}:", file=sys.stderr)
        traceback.print_exc()
        return Answer(job, None)
    return Answer(job, made.grade, made.seconds, made.crashes)


# --- in the grader --------------------------------------------------------------------------------


class Slot:
    """One slot's process. job: what it grades, since when."""

    job: Job | None = None
    since = 0.0

    def __init__(self, wish: Wish) -> None:
        self.channel, theirs = multiprocessing.Pipe()
        spawn = multiprocessing.get_context("spawn")
        self.process = spawn.Process(target=work, args=(theirs, os.getpid(), wish))
        usual = signal.signal(signal.SIGINT, signal.SIG_IGN)  # for good in what is started
        try:
            self.process.start()
        finally:
            signal.signal(signal.SIGINT, usual)
        theirs.close()

    def send(self, job: Job | None) -> None:
        """Let it grade a submission, or end."""
        self.job, self.since = job, time.monotonic()
        with contextlib.suppress(OSError):  # it has ended, which `hear` will say
            self.channel.send(job)

    def hear(self) -> Any:
        """What it says, None where it has ended."""
        with contextlib.suppress(EOFError, OSError):
            return self.channel.recv()

    def end(self, kindly: bool) -> None:
        """End the process. kindly: it was told to end, and has a moment for it."""
        if kindly:
            self.process.join(GRACE)
        self.process.kill()
        self.process.join()
        self.channel.close()


class Slots:
    """Slots that are kept warm. Use them in a `with` block, in the main thread.

    (The system ends a slot with the thread that started it.)
    """

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self._slots: list[Slot] = []
        self._worked = False  # whether any of them ever began

    def __enter__(self) -> Slots:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        self.rest(kindly=kind is None)

    @property
    def jobs(self) -> list[Job]:
        """What is in a slot."""
        return [slot.job for slot in self._slots if slot.job is not None]

    def give(self, job: Job) -> None:
        """Let a slot that has nothing to do grade it, a new one where there is none."""
        slot = next((slot for slot in self._slots if slot.job is None), None)
        if slot is None:
            slot = Slot(self.wish)
            self._slots.append(slot)
        slot.send(job)

    def answers(self, patience: float) -> Iterator[Answer]:
        """What slots have to say, which is waited for so many seconds. Raises GradingError."""
        heard = wait([slot.channel for slot in self._slots], patience)
        for slot in list(self._slots):
            late = slot.job is not None and time.monotonic() - slot.since > PATIENCE
            if not late and slot.channel not in heard:
                continue
            told = None if late else slot.hear()
            if told == "ready":
                self._worked = True
                continue
            if isinstance(told, str):
                raise GradingError(f"Grading cannot start: {told}")
            if not self._worked:
                raise GradingError(
                    "Grading cannot start: its processes end at once; "
                    f"{self.wish.out / LOG} may say why."
                )
            job, slot.job = slot.job, None
            if told is None or told.grade is None:  # it ended, is late, or its judge failed
                self._slots.remove(slot)
                slot.end(kindly=False)
            if job is not None:
                yield told or Answer(job, None)

    def rest(self, kindly: bool = True) -> None:
        """End all slots; new ones start with the next job."""
        ending, self._slots = self._slots, []
        for slot in ending if kindly else ():
            slot.send(None)
        for slot in ending:
            slot.end(kindly)
