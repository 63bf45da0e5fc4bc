"""Slots of the grader in this process: no process starts, and no clock but the test's own goes on.

What `helpers.instructor.grading.slots` starts as a process is here a judge of fake_judge.py, which
says what it has to say when it is looked at. Where nobody says anything, the clock moves on by what
was waited. So a watch of minutes takes milliseconds, and nothing in it depends on the machine.
"""

from __future__ import annotations

import itertools
import json
import selectors
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.instructor.grading import arrivals, edited, slots, watch
from helpers.instructor.grading.slot import graded
from helpers.instructor.grading.slots import GradingJob, Slot
from tests import fake_judge


class Clock:
    """Seconds that pass where somebody waits; stands in for the module `time`.

    meanwhile: goes on by a step whenever they do.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.meanwhile: Iterator[object] = iter(())

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        next(self.meanwhile, None)


class Judge(fake_judge.FakeJudge):
    """Its call is noted when it is given a submission, not when it answers."""

    serial = itertools.count()

    def __init__(self, lesson: str, mode: Any, slot: int) -> None:
        super().__init__(lesson, mode, slot)
        self.called = f"slot-{next(self.serial)}"

    def note(self, path: Path) -> None:
        pass


class FakeSlot(Slot):
    """A slot whose process is only said to be one."""

    def __init__(
        self, number: int, lesson: str, mode: Any, judge: str, log: Path, mistakes: str
    ) -> None:
        self.number, self.job, self.ready, self._left = number, None, False, b""
        self.since = slots.time.monotonic()
        self.socket, self.theirs = socket.socketpair()
        self.given: GradingJob | None = None
        try:
            self.judge = Judge(lesson, mode, number)
            self.say({"ready": True})
        except fake_judge.Died:
            self.theirs.close()
        except RuntimeError as error:
            self.say({"unable": str(error)})

    def say(self, message: dict[str, Any]) -> None:
        """Send one line to the grader."""
        self.theirs.sendall(json.dumps(message).encode() + b"\n")

    def give(self, job: GradingJob) -> None:
        self.job = self.given = job
        self.since = slots.time.monotonic()
        fake_judge.FakeJudge.note(self.judge, job.path)

    def answers(self) -> bool:
        """Say what comes of the job; False where there is none, or it takes longer."""
        job = self.given
        if job is None or self._takes_longer(fake_judge.first_cell(job.path)):
            return False
        self.given = None
        told = {"path": str(job.path), "submission": job.name, "seed": job.seed}
        try:
            self.say(graded(self.judge, told))
        except fake_judge.Died:
            self.theirs.close()
        return True

    def _takes_longer(self, told: dict[str, Any]) -> bool:
        if "until" in told and not Path(told["until"]).exists():
            return True
        return bool(slots.time.monotonic() - self.since < told.get("sleep", 0))

    def end(self, kindly: bool) -> None:
        self.theirs.close()
        self.socket.close()


class Selector(selectors.SelectSelector):
    """Hears what slots say; one of those that grade answers at each look."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def select(self, timeout: float | None = None) -> Any:
        any(key.data.answers() for key in list(self.get_map().values()))
        heard = super().select(0)
        if not heard:
            self.clock.sleep(timeout or 0.0)
        return heard


def _dies(code: int) -> None:
    raise fake_judge.Died


def install(patch: pytest.MonkeyPatch) -> Clock:
    """Let all that a test grades be graded in this process, on the clock that is returned."""
    clock = Clock()
    selecting = {"DefaultSelector": lambda: Selector(clock), "EVENT_READ": selectors.EVENT_READ}
    patch.setattr(slots, "selectors", SimpleNamespace(**selecting))
    patch.setattr(slots, "Slot", FakeSlot)
    for module in (slots, watch):
        patch.setattr(module, "time", clock)
    for name, home in (("Arrivals", arrivals), ("Telling", edited), ("Edited", edited)):
        patch.setattr(watch, name, partial(getattr(home, name), clock=clock.monotonic))
    patch.setattr(fake_judge, "end_process", _dies)
    patch.setattr(fake_judge, "time", SimpleNamespace(sleep=lambda seconds: None))
    return clock
