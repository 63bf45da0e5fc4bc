"""`./course grade FOLDER`: what lies in a folder is judged, unless it was before, and reported."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.grade import overrides, seeds
from helpers.grade.assemble import ABSENT, UNLISTED, People, columns, entry, whose
from helpers.grade.discover import Submission, discover, lesson_file
from helpers.grade.files import as_json, owned, write
from helpers.grade.grades import NOT_JUDGED, ExerciseGrade, Outcome, SubmissionGrade
from helpers.grade.report.sheet import Sheet
from helpers.grade.report.write import write_reports
from helpers.grade.roster import Roster, read_roster
from helpers.grade.slots import Answer, Job, Slots
from helpers.grade.store import Store, contents, grader_version
from helpers.grade.wish import GradingError, Wish

if TYPE_CHECKING:
    from rich.progress import Progress

FAILED = (
    "The grader itself failed at this notebook, twice. That says nothing about the answers: they "
    "have no grade yet."
)


def grade(wish: Wish) -> Grading:
    """Grade what is not graded yet, then write the reports; of a part of a class, none.

    Raises GradingError where something is wrong before grading, KeyboardInterrupt after Ctrl-C.
    Killed at any moment, it goes on from there when it is called again, and gives the same.
    """
    # All that may be wrong with what was asked for comes first: then OUT is not even made.
    grading = Grading(wish)
    grading.cached = grading.look()
    if not grading.here:
        raise GradingError(
            f"{grading.folder} holds no submissions: it needs a folder or a notebook for each "
            "student."
        )
    with grading.at_work() as slots:
        if grading.lacking:
            with progress_bar() as bar:
                total = grading.cached + len(grading.lacking)
                task = bar.add_task("", total=total, completed=grading.cached)
                while grading.lacking:
                    for _ in grading.turn(slots, 1.0):
                        bar.advance(task)
                    if not grading.busy:
                        grading.look()  # what has changed meanwhile is graded as it is now
        if wish.shard[1] == 1:
            write_reports(grading.sheet(), grading.out)
    return grading


class Grading:
    """A folder and what becomes of it in OUT.

    here: who has handed in, or should have. lacking: ids of submissions whose grade is still to
    come; coming: of those among them that somebody may still be writing. cached: how many had a
    grade when this began. graded: how many got one; failed: names of those at which the grader
    itself failed.
    """

    def __init__(self, wish: Wish) -> None:
        """Raises GradingError."""
        self.folder, self.out = apart(wish.folder, wish.out)
        self.wish = replace(wish, folder=self.folder, out=self.out)
        self.title = lesson_file(wish.lesson)[3:].removesuffix(".ipynb").replace("_", " ")
        self.columns = columns(wish.lesson)
        self.roster: Roster | None = None
        self.read_roster()
        self.key = seeds.load_key(wish.key)
        self.version = grader_version(wish.lesson, wish.judge)
        if wish.mistakes:
            self.version = hashed(f"{self.version} {wish.mistakes}")[:16]
        self.store = Store(self.out)
        self.by_hand: overrides.Overrides = {}
        self.here: People = []
        self.lacking: set[str] = set()
        self.coming: set[str] = set()
        self.cached = self.graded = 0
        self.failed: list[str] = []
        self._waiting: deque[Job] = deque()
        self._open: set[Job] = set()
        # What came to nothing once is tried once more, alone, when nothing else waits.
        self._again: deque[Job] = deque()
        self._first: dict[Job, Answer] = {}
        self._over: set[str] = set()

    @contextlib.contextmanager
    def at_work(self) -> Iterator[Slots]:
        """Hold OUT, with slots to grade in. Raises GradingError, KeyboardInterrupt after Ctrl-C."""
        with owned(self.out, shared=self.wish.shard[1] > 1):
            self._of_this_lesson()
            overrides.ensure(self.out)
            self.read_overrides()
            try:
                with Slots(self.wish) as slots:
                    yield slots
            except KeyboardInterrupt:
                total = sum(one.path is not None for one in self._mine())
                have = total - len(self.lacking)
                said = f"{have} of {total} submissions have their result."
                raise KeyboardInterrupt(said) from None

    def _of_this_lesson(self) -> None:
        """Raises GradingError where OUT holds another lesson's grades."""
        other = self.wish.lesson
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            other = json.loads((self.out / "grades.json").read_bytes())["lesson"]
        if other != self.wish.lesson:
            raise GradingError(
                f"{self.out} holds the grades of lesson {other}; name another --out."
            )

    # --- what there is ----------------------------------------------------------------------------

    def discover(self) -> list[Submission]:
        """What lies in the folder. Raises GradingError where it is not there, or all are gone."""
        if not self.folder.is_dir():
            raise GradingError(
                f"There is no folder {self.folder}; name the one that holds the submissions."
            )
        found = discover(self.folder, self.wish.lesson)
        if not found and self.here:
            raise GradingError(f"All submissions are gone from {self.folder}.")
        return found

    def look(
        self,
        found: Sequence[Submission] | None = None,
        rests: Callable[[Submission], bool] = lambda one: True,
    ) -> int:
        """Find out what lacks a grade; how many have theirs. Raises GradingError.

        found: what lies in the folder, if that is known. rests: whether nobody is writing it.
        """
        self.here = whose(self.discover() if found is None else found, self.roster)
        graded, self.coming, wanted = 0, set(), []
        for one in self._mine():
            if one.note == ABSENT:
                continue
            job = self._job(one)
            if one.path is not None and (
                job.digest in self._over
                or self.store.load(one.id, job.terms, job.digest) is not None
            ):
                graded += 1
            elif not rests(one):
                self.coming.add(one.id)
            elif one.path is not None:
                wanted.append(job)
        self.lacking = self.coming | {job.submission.id for job in wanted}
        free = [job for job in wanted if job not in self._open]
        self._waiting = deque(job for job in free if job not in self._first)
        self._again = deque(job for job in free if job in self._first)
        return graded

    def read_roster(self) -> None:
        """Take up the class list. Raises GradingError."""
        if self.wish.roster:
            self.roster = read_roster(self.wish.roster, self.wish.lesson)

    def read_overrides(self) -> None:
        """Take up the points set by hand. Raises GradingError."""
        points = {column.number: column.points for column in self.columns}
        self.by_hand = overrides.read(self.out, [one.name for one, _ in self.here], points)

    def _mine(self) -> list[Submission]:
        """All submissions, or those of the part that was asked for.

        Where one goes depends on its id alone: no node has to know what another one saw.
        """
        number, of = self.wish.shard
        return [one for one, _ in self.here if int(hashed(one.id), 16) % of == number - 1]

    def _job(self, one: Submission) -> Job:
        seed = seeds.seed(self.key, self.wish.lesson, one.raw)
        terms = hashed(f"{self.version} {seed} {self.wish.mode}")
        return Job(one, seed, terms, hashed(f"{terms} {contents(one.path) if one.path else ''}"))

    # --- grading ----------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether anything waits for a slot, or is in one."""
        return bool(self._waiting or self._again or self._open)

    def turn(self, slots: Slots, patience: float) -> Iterator[SubmissionGrade]:
        """Give out work, wait so many seconds at most for what comes of it, and keep that."""
        while self._waiting and len(self._open) < self.wish.jobs:
            self._give(slots, self._waiting.popleft())
        if self._again and not self._waiting and not self._open:
            slots.rest()  # it gets a new slot that has the machine for itself
            self._give(slots, self._again.popleft())
        for answer in slots.answers(patience):
            self._open.discard(answer.job)
            if answer.is_whole or answer.job in self._first:
                yield from self._keep(answer)
            else:
                self._first[answer.job] = answer
                self._again.append(answer.job)

    def _give(self, slots: Slots, job: Job) -> None:
        self._open.add(job)
        slots.give(job)

    def _keep(self, answer: Answer) -> Iterator[SubmissionGrade]:
        """Keep what came of a job, unless the notebook is another one by now."""
        job, one = answer.job, answer.job.submission
        first = self._first.pop(job, answer)
        if self._job(one).digest != job.digest:
            return
        counts = first if answer.grade is None else answer
        if not counts.is_whole:
            self._over.add(job.digest)
        if counts.grade is None:
            self.failed.append(one.name)
        graded = counts.grade or self._without_points(job, NOT_JUDGED, FAILED)
        kept = self.store.save(one.id, job.terms, job.digest, graded, failed=not counts.is_whole)
        # Times are no result: no two runs have the same.
        took = {"seconds": counts.seconds, "crashes": counts.crashes, "host": socket.gethostname()}
        write(self.out / "run" / "times" / f"{one.id}.json", as_json(took))
        self.lacking.discard(one.id)
        self.graded += 1
        yield kept

    def _without_points(self, job: Job, outcome: Outcome, why: str) -> SubmissionGrade:
        """The grade of a submission that no judge has seen, or that no judge got through."""
        made = [
            ExerciseGrade(one.number, one.title, outcome, 0.0, one.points, reason=why)
            for one in self.columns
        ]
        name, wish = job.submission.name, self.wish
        return SubmissionGrade(name, wish.lesson, job.seed, wish.mode, tuple(made), why)

    # --- the reports ------------------------------------------------------------------------------

    def sheet(self) -> Sheet:
        """Those that have a grade, and those of whom it is sure that they have no notebook.

        Whose grade is still to come has the last one, where that goes by the same terms.
        """
        people = {one.id: person for one, person in self.here}
        entries, waiting = [], []
        for one in self._mine():
            job = self._job(one)
            waits = one.id in self.lacking
            grade = self.store.load(one.id, job.terms) if one.path or waits else None
            if waits:
                waiting.append(one.name)
            elif grade is None:
                grade = self._without_points(job, "missing", one.note)
            if grade is not None:
                notes = [one.note if one.path else ""]
                notes += [UNLISTED] if self.roster and people[one.id] is None else []
                entries.append(entry(one, people[one.id], grade, self.by_hand, notes))
        return Sheet(
            self.wish.lesson,
            self.title.capitalize(),
            self.wish.mode,
            seeds.fingerprint(self.key),
            self.version,
            self.columns,
            tuple(entries),
            self.roster.canvas if self.roster else "",
            tuple(waiting),
        )


def progress_bar() -> Progress:
    """Of submissions that have their result."""
    from rich import progress
    from rich.console import Console

    done, took, left = progress.MofNCompleteColumn(), progress.TimeElapsedColumn(), "left"
    shown = progress.BarColumn(), done, took, left, progress.TimeRemainingColumn()
    return progress.Progress("Grading", *shown, console=Console(stderr=True))


def hashed(text: str) -> str:
    """Its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def apart(folder: Path, out: Path) -> tuple[Path, Path]:
    """Both, resolved. Raises GradingError where one lies in the other."""
    if out.exists() and not out.is_dir():
        raise GradingError(f"{out} is not a folder; name one with --out.")
    folder, out = folder.resolve(), out.resolve()
    if folder == out or folder in out.parents or out in folder.parents:
        raise GradingError(
            f"The submissions ({folder}) and --out ({out}) must not lie in one another: what is "
            "written would be taken for submissions."
        )
    return folder, out
