"""`./course grade FOLDER`: find, judge, report; with `--watch` the same in a loop.

The folder is looked at, and no events are asked for: network file systems give none, and a look
at 300 submissions takes milliseconds. Times are this machine's own: a file server's clock may be
wrong.
"""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.grade import overrides
from helpers.grade.discover import Submission
from helpers.grade.files import look_of, owned, read
from helpers.grade.grades import SubmissionGrade
from helpers.grade.grading import Grading
from helpers.grade.report.write import write_reports
from helpers.grade.roster import ABSENT
from helpers.grade.slots import Slots
from helpers.grade.wish import GradingError, Wish

if TYPE_CHECKING:
    from rich.progress import Progress

EVERY = 1.0  # seconds from one look at the folder to the next, at most
PAUSE = 3  # times as long as a class's reports took are they left alone: slots are not to wait
REST = 300.0  # seconds without work, and the slots give their memory back
STILL = 2.0  # seconds without a change, and a notebook that can be parsed is whole
BROKEN = 10.0  # seconds, and anything else is taken for what it will stay


def grade(
    wish: Wish, say: Callable[[str], None], watch: bool = False, until_idle: float | None = None
) -> Grading:
    """Grade what is not graded yet and write the reports; of a part of a class, none.

    watch: go on with what comes, a line and new reports with each grade. until_idle: seconds
    without anything new and without work after which a watch ends. Raises GradingError where
    something is wrong before grading, KeyboardInterrupt after Ctrl-C. Killed at any moment, it goes
    on from there when it is called again, and gives the same.
    """
    run = Run(wish, say, watch)
    grading = run.grading
    with owned(grading.out, shared=wish.shard[1] > 1):
        overrides.ensure(grading.out)
        try:
            with Slots(grading.wish) as slots, progress_bar(hidden=watch or run.is_done) as bar:
                task = bar.add_task("", total=grading.have + len(grading.waiting))
                active = time.monotonic()
                while watch or not run.is_done:
                    bar.update(task, completed=grading.have)
                    run.turn(slots)
                    if run.renew() or not run.is_done:
                        active = time.monotonic()
                    idle = time.monotonic() - active
                    if idle >= REST:
                        slots.rest()
                    if watch and until_idle is not None and idle >= until_idle:
                        break
                bar.update(task, completed=grading.have)
        except KeyboardInterrupt:
            total = sum(one.path is not None for one in grading.mine)
            said = f"{grading.have} of {total} submissions have their result."
            raise KeyboardInterrupt(said) from None
        if wish.shard[1] == 1 and not watch:
            write_reports(grading.sheet(), grading.out)
    return grading


class Run:
    """Turn after turn of looking, judging and reporting; each thing is said once.

    lines: of what the reports do not show yet. cached: how many had a grade when this began.
    """

    def __init__(self, wish: Wish, say: Callable[[str], None], watch: bool) -> None:
        """Look for the first time. Raises GradingError: then OUT is not even made."""
        self.grading, self.say, self.watch = Grading(wish), say, watch
        self.lines: list[str] = []
        self._renew_at = 0.0
        self._shown: object = None
        self._since: dict[str, tuple[object, float]] = {}
        self._troubles: dict[Path | None, str] = {}
        self._told: set[Submission] = set()
        for _, take_up in self._parts():
            take_up()
        grading = self.grading
        if not grading.people and not watch:
            raise GradingError(
                f"{grading.folder} holds no submissions: it needs a folder or a notebook for each "
                f"student. {' '.join(one.note for one in grading.strays[:1])}".rstrip()
            )
        grading.cached = grading.have
        if watch and grading.cached:
            say(f"With a result from before: {grading.cached}.")

    @property
    def is_done(self) -> bool:
        """Whether nothing waits for its grade."""
        return not self.grading.waiting

    def _parts(self) -> list[tuple[Path | None, Callable[[], None]]]:
        """What is taken up anew in each turn, and from where."""
        one = self.grading
        return [
            (one.wish.roster, one.read_roster),
            (one.folder, self._look),
            (one.out / overrides.FILE, one.read_overrides),
        ]

    def _look(self) -> None:
        """Look at the folder; while that is not there, all stays as it was."""
        self.grading.read_folder()
        self.grading.reckon(self.rests)

    def turn(self, slots: Slots) -> None:
        """Look at all there is, give out work, and keep what has come of it within EVERY."""
        grading = self.grading
        for path, take_up in self._parts():
            said = ""
            try:
                take_up()
            except GradingError as error:
                said = f"{error} Until that is right, what was read before counts."
            if said != self._troubles.get(path, ""):
                self.say(said or f"{path} is taken up.")
            self._troubles[path] = said
        without = {*grading.strays} | {
            one
            for one, _ in grading.people
            if one.path is None and one.note != ABSENT and one.id not in grading.waiting
        }
        self.lines += [f"{one.name}: {one.note}" for one in without - self._told]
        self._told = without
        grading.give(slots)
        for answer in slots.answers(EVERY):
            if kept := grading.keep(answer):
                self.lines.append(told(kept))

    def rests(self, one: Submission) -> bool:
        """Whether a submission has been left alone for so long that nobody is writing it."""
        if not self.watch:
            return True
        now, look = time.monotonic(), None
        with contextlib.suppress(OSError):
            look = look_of(one.path) if one.path else None
        known, since = self._since.get(one.id, (None, now))
        if known != (one, look):
            since = now
        self._since[one.id] = (one, look), since
        whole = one.path is not None and can_be_parsed(one.path, look)
        return now - since >= (STILL if whole else BROKEN)

    def renew(self) -> bool:
        """In a watch, write the reports where anything is new, then say it; whether anything was.

        Not at once where they take long: slots are not to wait.
        """
        grading = self.grading
        state = grading.people, grading.by_hand, {*grading.waiting}, grading.graded
        if not self.watch or (state == self._shown and not self.lines):
            return False
        begun = time.monotonic()
        if begun >= self._renew_at:
            if grading.people:
                write_reports(grading.sheet(), grading.out)
            self._shown = state
            self._renew_at = time.monotonic() + PAUSE * (time.monotonic() - begun)
            for line in self.lines:
                self.say(line)
            self.lines.clear()
        return True


@functools.lru_cache(maxsize=4096)
def can_be_parsed(notebook: Path, look: tuple[int, ...] | None) -> bool:
    """Whether it is the whole of something: no part of a notebook is JSON, if it lacks the end.

    look: what it looks like by now.
    """
    try:
        return isinstance(json.loads(read(notebook)), dict)
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


def progress_bar(hidden: bool) -> Progress:
    """Of submissions that have their result."""
    from rich import progress
    from rich.console import Console

    done, took, left = progress.MofNCompleteColumn(), progress.TimeElapsedColumn(), "left"
    shown = progress.BarColumn(), done, took, left, progress.TimeRemainingColumn()
    return progress.Progress("Grading", *shown, console=Console(stderr=True), disable=hidden)
