"""`./course grade --watch`: grade what arrives in a folder, as it arrives, until interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from helpers.instructor.grades import SubmissionGrade
from helpers.instructor.grading import GradingError, Interrupted, overrides
from helpers.instructor.grading.arrivals import BROKEN, Arrivals
from helpers.instructor.grading.assemble import ABSENT, Found, is_in_part, whose
from helpers.instructor.grading.discover import Submission
from helpers.instructor.grading.edited import Edited, Telling
from helpers.instructor.grading.files import owned
from helpers.instructor.grading.pending import Pending
from helpers.instructor.grading.run import Terms, Wish, beside, of_this_lesson, terms, unreadable
from helpers.instructor.grading.slots import Answer, Slots
from helpers.instructor.grading.store import Store
from helpers.instructor.report.sheet import Sheet
from helpers.instructor.report.write import write_reports

EVERY = 1.0  # seconds from one look at the folder to the next
SHARE = 10  # no more than one part in so many of the time is spent looking
PAUSE = 3  # times as long as a class's reports took are they left alone: slots are not to wait
REST = 300.0  # seconds without work, and the slots give their memory back


@dataclass(frozen=True)
class Watched:
    """What came of it. sheet: of the pages, None where there was nothing to make them of."""

    sheet: Sheet | None
    graded: int


def watch(wish: Wish, say: Callable[[str], None], until_idle: float | None = None) -> Watched:
    """Grade what is in the folder and what comes, and renew the reports with each grade.

    say: is given a line for each submission. until_idle: seconds without anything new and without
    work after which it ends: a look at the folder has to come that late, and find nothing. Raises
    GradingError where something is wrong before it begins, Interrupted after Ctrl-C. Killed at any
    moment, it goes on from there when it is called again.
    """
    folder, out = beside(wish.folder, wish.out)
    by, telling = terms(wish), Telling(say)
    edited = Edited(by, out, telling)
    with owned(out):
        of_this_lesson(out, wish.lesson)
        overrides.ensure(out)
        store, queue = Store(out), Pending(out / "run" / "taken")
        store.prepare()
        queue.clear()
        log = out / "run" / "slots.log"
        with Slots(wish.lesson, wish.mode, wish.judge, log, wish.mistakes) as slots:
            slots.add()  # the first submission is not to wait until it has started
            arrivals = Arrivals(folder, wish.lesson)
            watching = Watching(by, arrivals, edited, queue, store, slots, telling)
            try:
                watching.go_on(until_idle)
            except KeyboardInterrupt:
                raise Interrupted(queue.settled, queue.settled + len(queue.open)) from None
            finally:
                queue.clear()
    return Watched(watching.shown, watching.graded)


class Watching:
    """The loop around what `./course grade` does once: look, give out work, keep, renew.

    shown: the sheet that the reports in OUT are of, None before they are written. graded: how many
    got a grade, cached: how many had theirs.
    """

    def __init__(
        self,
        by: Terms,
        arrivals: Arrivals,
        edited: Edited,
        queue: Pending,
        store: Store,
        slots: Slots,
        telling: Telling,
    ) -> None:
        self.by, self.arrivals, self.edited, self.queue = by, arrivals, edited, queue
        self.store, self.slots, self.telling = store, slots, telling
        self.shown: Sheet | None = None
        self.graded = self.cached = 0
        self._begun = self._active = self._renew_at = time.monotonic()
        self._changed = True
        self._lines: list[str] = []  # of grades that the reports do not show yet

    def go_on(self, until_idle: float | None) -> None:
        """Until interrupted, or until nothing was new for so many seconds."""
        looked = look_at = time.monotonic()
        while True:
            begun = time.monotonic()
            if begun >= look_at:
                looked = begun
                self._look()
                look_at = begun + max(EVERY, SHARE * (time.monotonic() - begun))
            self._grade(min(EVERY, max(0.0, look_at - time.monotonic())))
            now = time.monotonic()
            coming = self.arrivals.coming or self.arrivals.going or self.edited.coming
            if self._changed or self.queue.open or coming:
                self._active = now
            self._renew()
            if now - self._active >= REST:
                self.slots.rest()
            if until_idle is not None and looked - max(self._active, self.telling.at) >= until_idle:
                return

    # --- what is there ----------------------------------------------------------------------------

    def _look(self) -> None:
        cached, here = self.cached, set(self.arrivals.here)
        self._changed |= self.edited.look()
        try:
            self._changed |= self.arrivals.look(self._take)
        except GradingError as error:
            said = f"{error} What is graded stays; this waits until they are there."
            self.telling.trouble("folder", said)
            return
        self.telling.well("folder", f"{self.arrivals.folder} is there.")
        for identity in here - set(self.arrivals.here):
            self.queue.forget(identity)
        if self.cached > cached:
            self.telling.say(f"With a result from before: {self.cached - cached}.")

    def _take(self, one: Submission, held: bytes | OSError | None) -> None:
        """A submission came to rest."""
        if not is_in_part(one.id, *self.by.wish.shard):
            return
        if held is None:
            self.queue.forget(one.id)
            self.telling.say(f"{one.name}: {one.note}")
            return
        data = held if isinstance(held, bytes) else None
        digest = unreadable(held) if isinstance(held, OSError) else self.by.digest(held, one.raw)
        if self.queue.is_wanted(one.id, digest):
            return
        self.queue.want(one.id, digest)
        if self.store.load(one.id, digest) is not None:
            self.cached += 1
        else:
            self.queue.add(one, self.by.seed(one.raw), data)

    # --- grading ----------------------------------------------------------------------------------

    def _grade(self, patience: float) -> None:
        """Let the slots work for a moment; keep what they have."""
        queue = self.queue
        if queue.again and not queue.waiting and not self.slots.at_work:
            self.slots.rest()  # it gets a new slot that has the machine for itself
            queue.waiting.append(queue.again.popleft())
        for answer in self.slots.turn(queue.waiting, self.by.wish.jobs, patience):
            if (counts := queue.settle(answer)) is not None:
                self._keep(counts)

    def _keep(self, answer: Answer) -> None:
        """Keep a grade, show it and say it, unless the submission is another one by now."""
        digest = self.queue.done(answer.job)
        if digest is not None:
            kept = self.by.keep(self.store, answer, digest)
            self.graded += 1
            self._changed = True
            self._lines.append(f"{answer.job.name}: {told(kept)}")
            self._renew()

    # --- the reports ------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Write the reports of what is whole and has its grade, where something is new.

        Not as long as what was there at the start is still looked at: nobody may go missing.
        """
        now = time.monotonic()
        begins = self.shown is None and now - self._begun < BROKEN + 2 * EVERY
        if not self._changed or now < self._renew_at or (begins and self.arrivals.coming):
            return
        self._changed = False
        self._write()
        self._renew_at = time.monotonic() + PAUSE * (time.monotonic() - now)
        for line in self._lines:
            self.telling.say(line)
        self._lines.clear()

    def _write(self) -> None:
        everybody = whose(list(self.arrivals.here.values()), self.edited.roster)
        by_hand = self.edited.by_hand([one.name for one in everybody.submissions])
        if by_hand is None or not everybody.submissions:
            return
        made = self._sheet(everybody.part(*self.by.wish.shard), by_hand)
        if made != self.shown:
            write_reports(made, self.by.wish.out.resolve(), self.shown)
            self.shown = made

    def _sheet(self, mine: Found, by_hand: overrides.Overrides) -> Sheet:
        """Those that have a grade, and those of whom it is sure that they have no notebook."""
        pairs, grades = [], {}
        for one, person in zip(mine.submissions, mine.people, strict=True):
            if one.path is not None:
                grade = self._last_grade(one)
                if grade is None:
                    continue
                grades[one.id] = grade
            elif one.note != ABSENT and not self.arrivals.is_whole(one.id):
                continue
            pairs.append((one, person))
        shown = Found(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), mine.canvas)
        coming = self.queue.open | self.arrivals.coming
        waiting = tuple(one.name for one in mine.submissions if one.id in coming)
        return replace(self.by.sheet(shown, grades.get, by_hand), waiting=waiting)

    def _last_grade(self, one: Submission) -> SubmissionGrade | None:
        """What is stored, where it is of this lesson's exercises and of the same hidden cases."""
        grade, by = self.store.load(one.id), self.by
        if grade is None or (grade.seed, grade.sandbox) != (by.seed(one.raw), by.wish.mode):
            return None
        asked = [(column.number, column.points) for column in by.columns]
        return grade if [(e.number, e.max) for e in grade.exercises] == asked else None


def told(grade: SubmissionGrade) -> str:
    """A grade in a line: the points, and what is open."""
    points = f"{grade.total:g} of {grade.max:g} points"
    if grade.note:
        return f"{points}. {grade.note}"
    lacking = [
        f"{one.number} {one.outcome}" + (f" ({one.mistake})" if one.mistake else "")
        for one in grade.exercises
        if one.outcome != "passed"
    ]
    return points + (f"; {', '.join(lacking)}" if lacking else "")
