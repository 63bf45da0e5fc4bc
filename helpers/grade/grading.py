"""A class and what becomes of it in OUT: what is still to be graded, what has been, the sheet.

OUT/results has a file a submission: its grade and what that goes by. All other files of OUT but
the instructor's own overrides are made anew of these.
"""

from __future__ import annotations

import hashlib
import json
import socket
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from helpers.grade import overrides, seeds
from helpers.grade.discover import Submission, discover, lesson_file
from helpers.grade.files import apart, as_json, contents, everywhere_printable, hashed, write
from helpers.grade.grades import (
    NOT_JUDGED,
    ExerciseGrade,
    Outcome,
    SubmissionGrade,
    Took,
    from_json,
)
from helpers.grade.report.sheet import Column, Entry, Sheet
from helpers.grade.roster import ABSENT, People, Roster, from_name, read_roster, whose
from helpers.grade.slots import Answer, Job, Slots
from helpers.grade.wish import GradingError, Wish

HELPERS = Path(__file__).resolve().parents[1]
TRIES = 2  # for what was not judged in full
UNLISTED = "The class list has nobody for this submission."
FAILED = (
    "The grader itself failed at this notebook, twice. That says nothing about the answers: they "
    "have no grade yet."
)


@dataclass(frozen=True)
class Result:
    """What OUT/results holds of a submission. terms, digest: of the job."""

    terms: str
    digest: str
    grade: SubmissionGrade
    took: Took


class Grading:
    """A folder and what becomes of it in OUT.

    people: who has handed in, or should have; strays: files that are nobody's. wanted: what is to
    be graded; waiting: ids of these submissions, and of those that somebody may still be writing.
    cached: how many had a grade when this began; graded: how many got one.
    """

    def __init__(self, wish: Wish) -> None:
        """Raises GradingError."""
        self.folder, self.out = apart(wish.folder, wish.out)
        self.wish = replace(wish, folder=self.folder, out=self.out)
        self.title = lesson_file(wish.lesson)[3:].removesuffix(".ipynb").replace("_", " ")
        self.columns = columns(wish.lesson)
        self.key = seeds.load_key(wish.key)
        self.version = grader_version(wish)
        self.roster: Roster | None = None
        self.by_hand: overrides.Overrides = {}
        self.people: People = []
        self.strays: list[Submission] = []
        self.wanted: list[Job] = []
        self.waiting: set[str] = set()
        self.cached = self.graded = 0
        self._results: dict[str, Result | None] = {}
        self._tries: Counter[str] = Counter()  # by digest
        self._of_this_lesson()

    def _of_this_lesson(self) -> None:
        """Raises GradingError where OUT holds another lesson's grades."""
        other = _json_of(self.out / "grades.json").get("lesson", self.wish.lesson)
        if other != self.wish.lesson:
            raise GradingError(
                f"{self.out} holds the grades of lesson {other}; name another --out."
            )

    # --- what there is ----------------------------------------------------------------------------

    def read_roster(self) -> None:
        """Take up the class list. Raises GradingError."""
        if self.wish.roster:
            self.roster = read_roster(self.wish.roster, self.wish.lesson)

    def read_folder(self) -> None:
        """See who has handed in. Raises GradingError where the folder is not there, or all left."""
        if not self.folder.is_dir():
            raise GradingError(
                f"There is no folder {self.folder}; name the one that holds the submissions."
            )
        found, named = discover(self.folder, self.wish.lesson), lesson_file(self.wish.lesson)
        if not found and self.people:
            raise GradingError(f"All submissions are gone from {self.folder}.")
        people = whose(found, self.roster, named)
        self.people = [(one, person) for one, person in people if not one.stray]
        self.strays = [one for one, _ in people if one.stray]

    def read_overrides(self) -> None:
        """Take up the points set by hand. Raises GradingError."""
        points = {column.number: column.points for column in self.columns}
        self.by_hand = overrides.read(self.out, [one.name for one, _ in self.people], points)

    def reckon(self, rests: Callable[[Submission], bool] = lambda one: True) -> None:
        """Find out what lacks a grade. rests: whether nobody is writing a submission."""
        self.waiting, wanted = set(), []
        for one in self.mine:
            job = self._job(one)
            if one.note == ABSENT or (one.path and self._is_judged(job)):
                continue
            still = rests(one)
            if one.path or not still:
                self.waiting.add(one.id)
            if one.path and still:
                wanted.append(job)
        self.wanted = sorted(wanted, key=lambda job: self._tries[job.digest])

    @property
    def mine(self) -> list[Submission]:
        """All submissions, or those of the part that was asked for.

        Where one goes depends on its id alone: no node has to know what another one saw.
        """
        number, of = self.wish.shard
        return [one for one, _ in self.people if int(hashed(one.id), 16) % of == number - 1]

    @property
    def have(self) -> int:
        """How many notebooks have their grade."""
        return sum(one.path is not None and one.id not in self.waiting for one in self.mine)

    def _job(self, one: Submission) -> Job:
        seed = seeds.seed(self.key, self.wish.lesson, one.raw)
        terms = hashed(f"{self.version} {seed} {self.wish.mode}")
        return Job(one, seed, terms, hashed(f"{terms} {contents(one.path) if one.path else ''}"))

    def _result(self, job: Job) -> Result | None:
        """The last result, where it goes by the same terms; maybe of another notebook."""
        name = job.submission.id
        if name not in self._results:
            try:
                stored = _json_of(self.out / "results" / f"{name}.json")
                read = {"grade": from_json(stored["grade"]), "took": Took(**stored["took"])}
                self._results[name] = Result(**stored | read)
            except (KeyError, TypeError):
                self._results[name] = None
        found = self._results[name]
        return found if found and found.terms == job.terms else None

    def _is_judged(self, job: Job) -> bool:
        """Whether a notebook as it is has its grade, or was tried often enough."""
        found = self._result(job)
        if found is None or found.digest != job.digest:
            return False
        return not found.grade.not_judged or self._tries[job.digest] >= TRIES

    # --- grading ----------------------------------------------------------------------------------

    def give(self, slots: Slots) -> None:
        """Fill the slots. What came to nothing once is tried again alone, when nothing else is."""
        wanted = [job for job in self.wanted if job.submission.id in self.waiting]
        for job in [job for job in wanted if job not in slots.jobs]:
            again = self._tries[job.digest] > 0
            if again and not slots.jobs:
                slots.rest()  # it gets a new slot that has the machine for itself
            if len(slots.jobs) < (1 if again else self.wish.jobs):
                slots.give(job)

    def keep(self, answer: Answer) -> SubmissionGrade | None:
        """Keep what came of a job, unless the notebook is another one by now.

        Returns the grade; None where it will be tried again.
        """
        job, one = answer.job, answer.job.submission
        if self._job(one).digest != job.digest:
            return None
        self._tries[job.digest] += 1
        last, found = self._tries[job.digest] >= TRIES, self._result(job)
        grade = answer.grade
        if grade is None and last and not (found and found.digest == job.digest):
            grade = self._without_points(job, NOT_JUDGED, FAILED)
        if grade is not None:
            kept = from_json(everywhere_printable(grade.as_json()))
            took = Took(answer.seconds, answer.crashes, socket.gethostname())
            found = Result(job.terms, job.digest, kept, took)
            write(self.out / "results" / f"{one.id}.json", as_json(asdict(found)))
            self._results[one.id] = found
        if not self._is_judged(job) or found is None:
            return None
        self.waiting.discard(one.id)
        self.graded += 1
        return found.grade

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
        people = {one.id: person for one, person in self.people}
        entries, waiting = [], []
        for one in self.mine:
            job, waits, took = self._job(one), one.id in self.waiting, None
            if waits:
                waiting.append(one.name)
            if one.path or waits:
                found = self._result(job)
                if found is None:
                    continue
                grade, took = found.grade, found.took
            else:
                grade = self._without_points(job, "missing", one.note)
            grade, changed = overrides.apply(grade, self.by_hand.get(one.name, {}))
            notes = [one.note] if one.path and one.note else []
            notes += [UNLISTED] if self.roster and people[one.id] is None else []
            person = people[one.id] or from_name(one.raw)
            there = one.path is not None
            found_as = " ".join(notes)
            entries.append(Entry(one.id, grade, changed, person, there, found_as, one.taken, took))
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
            tuple(f"{one.name}: {one.note}" for one in self.strays),
        )


def columns(lesson: str) -> tuple[Column, ...]:
    """The lesson's exercises. Raises GradingError where it has none."""
    from helpers.checks import of_lesson
    from helpers.checks.report import parts_of

    graded = [(one.number, one.title, float(one.points)) for one in of_lesson(lesson)]
    graded += [(one.number, one.title, float(one.points)) for one in parts_of(lesson)]
    if not graded:
        raise GradingError(f"Lesson {lesson} has no exercises, so there is nothing to grade.")
    return tuple(Column(*one) for one in graded)


def grader_version(wish: Wish) -> str:
    """A digest of all that may decide a grade: the course's files, packages, the class's table."""
    told = f"{wish.lesson} {wish.judge} {wish.mistakes} {sys.version_info[:2]}"
    digest = hashlib.sha256(told.encode())
    for package in ("torch", "numpy"):
        digest.update(f"{package} {version(package).split('+')[0]}".encode())
    for path in sorted(one for end in ("py", "json") for one in HELPERS.rglob(f"*.{end}")):
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _json_of(path: Path) -> dict[str, Any]:
    """What a file of OUT holds; nothing where it is not there, or not whole."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
