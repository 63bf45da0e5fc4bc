"""`./course grade --watch`: the same in a loop, over what arrives, until interrupted.

The folder is looked at, and no events are asked for: network file systems give none, and a look
at 300 submissions takes milliseconds. Times are this machine's own: a file server's clock may be
wrong.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from helpers.grade import overrides
from helpers.grade.assemble import ABSENT
from helpers.grade.discover import Submission
from helpers.grade.grades import SubmissionGrade
from helpers.grade.report.write import write_reports
from helpers.grade.run import Grading
from helpers.grade.store import look_of, read
from helpers.grade.wish import GradingError, Wish

EVERY = 1.0  # seconds from one look at the folder to the next, at most
PAUSE = 3  # times as long as a class's reports took are they left alone: slots are not to wait
REST = 300.0  # seconds without work, and the slots give their memory back
STILL = 2.0  # seconds without a change, and a notebook that can be parsed is whole
BROKEN = 10.0  # seconds, and anything else is taken for what it will stay


def watch(wish: Wish, say: Callable[[str], None], until_idle: float | None = None) -> Grading:
    """Grade what is in the folder and what comes, and renew the reports with each grade.

    say: is given a line for each submission. until_idle: seconds without anything new and without
    work after which it ends. Raises GradingError where something is wrong before it begins,
    KeyboardInterrupt after Ctrl-C. Killed at any moment, it goes on from there when it is called
    again.
    """
    watching = Watching(wish, say)
    grading = watching.grading
    grading.cached = grading.look(rests=watching.rests)
    if grading.cached:
        say(f"With a result from before: {grading.cached}.")
    with grading.at_work() as slots:
        active = time.monotonic()
        while True:
            watching.look()
            watching.lines += [told(kept) for kept in grading.turn(slots, EVERY)]
            if watching.renew() or grading.lacking:
                active = time.monotonic()
            idle = time.monotonic() - active
            if idle >= REST:
                slots.rest()
            if until_idle is not None and idle >= until_idle:
                return grading


class Watching:
    """Says each thing once, and does nothing where nothing has changed.

    lines: of grades that the reports do not show yet.
    """

    def __init__(self, wish: Wish, say: Callable[[str], None]) -> None:
        self.grading, self.say = Grading(wish), say
        self.lines: list[str] = []
        self._renew_at = 0.0
        self._seen: object = None
        self._shown: object = None
        self._since: dict[str, tuple[object, float]] = {}
        self._troubles: dict[Path, str] = {}
        self._told: set[Submission] = set()

    def look(self) -> None:
        """Look at the folder, the class list and the overrides."""
        self._try(self.grading.folder, self._look, "What is graded stays.")

    def _look(self) -> None:
        grading, roster = self.grading, self.grading.wish.roster
        found = grading.discover()
        by_hand = grading.out / overrides.FILE
        seen = found, [_changing(path) for path in (by_hand, roster, *(one.path for one in found))]
        if seen == self._seen and not grading.coming and (grading.busy or not grading.lacking):
            return
        self._seen = seen
        if roster:
            before = "The one from before still counts."
            self._try(roster, grading.read_roster, before)
        grading.look(found, self.rests)
        self._try(by_hand, grading.read_overrides, "The points from before still count.")
        without = {
            one
            for one, _ in grading.here
            if one.path is None and one.note != ABSENT and one.id not in grading.coming
        }
        self.lines += [f"{one.name}: {one.note}" for one in without - self._told]
        self._told = without

    def _try(self, what: Path, do: Callable[[], None], meanwhile: str) -> None:
        """Do it; what is wrong is said once, and once that it is right again."""
        try:
            do()
        except GradingError as error:
            said = f"{error} {meanwhile}"
            if self._troubles.get(what) != said:
                self.say(said)
            self._troubles[what] = said
        else:
            if self._troubles.pop(what, ""):
                self.say(f"{what} is taken up.")

    def rests(self, one: Submission) -> bool:
        """Whether a submission has been left alone for so long that nobody is writing it."""
        now, look = time.monotonic(), (one, _changing(one.path))
        known, since = self._since.get(one.id, (None, now))
        self._since[one.id] = look, since if known == look else now
        still = now - self._since[one.id][1]
        return still >= (STILL if one.path and can_be_parsed(one.path) else BROKEN)

    def renew(self) -> bool:
        """Write the reports where anything is new, then say it; whether anything was.

        Not at once where they take long: slots are not to wait.
        """
        grading = self.grading
        state = grading.here, grading.by_hand, {*grading.lacking}, grading.graded
        if state == self._shown and not self.lines:
            return False
        begun = time.monotonic()
        if begun >= self._renew_at:
            if grading.here:
                write_reports(grading.sheet(), grading.out)
            self._shown = state
            self._renew_at = time.monotonic() + PAUSE * (time.monotonic() - begun)
            for line in self.lines:
                self.say(line)
            self.lines.clear()
        return True


def _changing(path: Path | None) -> object:
    try:
        return look_of(path) if path else None
    except OSError as error:
        return error.strerror


def can_be_parsed(notebook: Path) -> bool:
    """Whether it is the whole of something: no part of a notebook is JSON, if it lacks the end."""
    try:
        return isinstance(json.loads(read(notebook).decode("utf-8-sig")), dict)
    except (OSError, ValueError, RecursionError):
        return False


def told(grade: SubmissionGrade) -> str:
    """A grade in a line: the points, and what is open."""
    open_ = [
        f"{one.number} {one.outcome}" + (f" ({one.mistake})" if one.mistake else "")
        for one in grade.exercises
        if one.outcome != "passed"
    ]
    points = f"{grade.submission}: {grade.total:g} of {grade.max:g} points"
    return f"{points}. {grade.note}" if grade.note else "; ".join([points, *open_])
