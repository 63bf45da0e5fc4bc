"""Slots of the grader in this process: no process starts, and no clock but the test's own goes on.

What `helpers.grade.slots` starts as a process is here a judge of fake_grader.py, which
says what it has to say when it is waited for. Where nobody says anything, the clock moves on by
what was waited. So a watch of minutes takes milliseconds, and nothing depends on the machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.grade import run, slots
from helpers.grade.slots import Job
from helpers.grade.wish import Wish
from tests.fake_grader import FakeJudge


class Clock:
    """Seconds that pass where somebody waits; stands in for the module `time`."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Died(BaseException):
    """The judge's process has ended."""


class Judge(FakeJudge):
    """Grades at once; its slot waits instead, before it says so."""

    serial = itertools.count()

    def __init__(self, lesson: str, mode: Any, slot: int) -> None:
        super().__init__(lesson, mode, slot)
        self.called = f"slot-{next(self.serial)}"

    def wait(self, told: dict[str, Any]) -> None:
        self.told = told

    def die(self) -> None:
        raise Died


class FakeSlot(slots.Slot):
    """A slot whose process is only said to be one; it is its own channel."""

    def __init__(self, wish: Wish) -> None:
        self.said = list[Any]()
        self.channel: Any = self
        try:
            self.judge = Judge(wish.lesson, wish.mode, 0)
            self.said.append("ready")
        except Died:
            self.said.append(None)
        except RuntimeError as error:
            self.said.append(f"RuntimeError: {error}")

    def send(self, job: Job | None) -> None:
        self.job, self.since = job, slots.time.monotonic()
        if job is not None and hasattr(self, "judge"):
            try:
                self.said.append(slots.graded(self.judge, job))
            except Died:
                self.said.append(None)

    def speaks(self) -> bool:
        """Whether it has something to say by now."""
        if not self.said or not isinstance(self.said[0], slots.Answer):
            return bool(self.said)
        told = self.judge.told
        if "until" in told and not Path(told["until"]).exists():
            return False
        return bool(slots.time.monotonic() - self.since >= told.get("sleep", 0))

    def hear(self) -> Any:
        return self.said.pop(0)

    def end(self, kindly: bool) -> None:
        pass


def install(patch: pytest.MonkeyPatch, home: Path) -> Clock:
    """Let all that a test grades be graded in this process, on the clock that is returned; with a
    key of its own, and a grader that nobody edits meanwhile."""
    clock = Clock()

    def wait(channels: Sequence[FakeSlot], patience: float) -> list[FakeSlot]:
        heard = [one for one in channels if one.speaks()][:1]
        if not heard:
            clock.sleep(patience)
        return heard

    patch.setattr(slots, "Slot", FakeSlot)
    patch.setattr(slots, "wait", wait)
    for module in (slots, run):
        patch.setattr(module, "time", clock)
    patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    patch.setenv("FAKE_JUDGE_LOG", str(home / "log"))
    patch.setattr("helpers.grade.grading.grader_version", lambda wish: "as it was")
    return clock
