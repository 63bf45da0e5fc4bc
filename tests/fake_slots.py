"""Slots of the grader in this process: no process starts, and no clock but the test's own goes on.

What `helpers.grade.slots` starts as a process is here a judge of fake_grader.py, which
says what it has to say when it is waited for. Where nobody says anything, the clock moves on by
what was waited. So a watch of minutes takes milliseconds, and nothing depends on the machine.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.grade import run, slots
from helpers.grade.grading import Grading
from helpers.grade.slots import Job
from helpers.grade.wish import Wish
from tests.fake_grader import JUDGE, FakeJudge, calls, hand_in


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


class Class:
    """A class to grade, with its OUT. said: the lines of a watch."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self.clock, self.home, self.folder, self.out = clock, home, home / "in", home / "out"
        self.said: list[str] = []
        self.folder.mkdir()

    def wish(self, **wish: Any) -> Wish:
        asked = {"folder": self.folder, "lesson": "02", "out": self.out, "jobs": 2, "judge": JUDGE}
        return Wish(**{**asked, **wish})

    def grade(self, **wish: Any) -> Grading:
        return run.grade(self.wish(**wish), print)

    def watch(self, *steps: tuple[str, Callable[[], object]], **wish: Any) -> Grading:
        """Watch until nothing is new any more; every step has to be reached.

        After a line that holds a step's text comes what the step does.
        """
        left = list(steps)

        def say(line: str) -> None:
            self.said.append(line)
            if left and left[0][0] in line:
                left.pop(0)[1]()

        made = run.grade(self.wish(**wish), say, watch=True, until_idle=30.0)
        assert left == [], self.said
        return made

    def hand_in(self, *names: str, **order: Any) -> Callable[[], object]:
        """A step that hands in these."""
        return lambda: [hand_in(self.folder, name, **order) for name in names]

    def overrides(self, *lines: str) -> None:
        """Write points by hand."""
        head = "submission,exercise,points,comment"
        (self.out / "overrides.csv").write_text("\n".join([head, *lines, ""]))

    def one(self, name: str) -> Any:
        """What grades.json says of somebody."""
        return next(one for one in self.told["submissions"] if one["submission"] == name)

    @property
    def told(self) -> Any:
        return json.loads((self.out / "grades.json").read_bytes())

    @property
    def totals(self) -> dict[str, float]:
        return {one["submission"]: one["total"] for one in self.told["submissions"]}

    @property
    def gradings(self) -> Counter[str]:
        """How often the judge was given each submission."""
        return Counter(name for _, name in calls(self.home / "log"))
