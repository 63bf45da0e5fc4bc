"""What the reports are made of: every submission of a class with its grade, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from helpers.instructor.grades import Mode, SubmissionGrade
from helpers.instructor.grading.overrides import Override
from helpers.instructor.grading.roster import Person

STAMP = (
    "Not sandboxed: these submissions ran with the rights of whoever graded them, and one of them "
    "may have changed any of these grades."
)
# What students are told of an exercise that was not judged.
NO_FAULT = (
    "This is no mistake of yours: nothing was decided about your answer. Ask your instructor what "
    "comes of it."
)


@dataclass(frozen=True)
class Column:
    """One exercise of the lesson."""

    number: str
    title: str
    points: float


@dataclass(frozen=True)
class Entry:
    """One submission. id: of its files. grade: with the overrides in it. raw: its name in the file
    system. person: who it belongs to, as the class list or its own name says. listed: whether the
    class list says so. note: what the instructor should know about how it was found. taken: which
    notebook was taken of several, for the student too.
    """

    id: str
    raw: str
    grade: SubmissionGrade
    overrides: tuple[Override, ...]
    person: Person
    listed: bool
    handed_in: bool
    note: str
    taken: str = ""

    @property
    def notes(self) -> list[str]:
        """What the instructor should know about the whole submission, a sentence each."""
        return [note for note in (self.taken, self.note, self.grade.note) if note]

    def as_json(self) -> dict[str, Any]:
        """As plain JSON data."""
        return self.grade.as_json() | {
            "id": self.id,
            "raw": self.raw.encode("utf-8", "surrogateescape").hex(),
            "total": self.grade.total,
            "max": self.grade.max,
            "overrides": [one.as_json() for one in self.overrides],
            "person": self.person.as_json(),
            "listed": self.listed,
            "handed_in": self.handed_in,
            "found": self.note,
            "taken": self.taken,
        }


@dataclass(frozen=True)
class Sheet:
    """A whole class. key: the fingerprint of the key behind the seeds. grader: its version. roster:
    whether there was a class list. canvas: the column of this lesson in Canvas. shard: "2/5" for a
    part of a class, "" for all of it. waiting: names of submissions that are here and whose grade
    is not, where the folder is watched.
    """

    lesson: str
    title: str
    sandbox: Mode
    key: str
    grader: str
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    roster: bool = False
    canvas: str = ""
    shard: str = ""
    waiting: tuple[str, ...] = ()

    @property
    def not_judged(self) -> tuple[Entry, ...]:
        """Who has exercises of which nothing was decided."""
        return tuple(entry for entry in self.entries if entry.grade.not_judged)

    @property
    def name(self) -> str:
        """Such as "Lesson 03: Data parallelism"."""
        return f"Lesson {self.lesson}: {self.title}"

    @property
    def max(self) -> float:
        """Points that there are."""
        return sum(column.points for column in self.columns)

    @property
    def stamp(self) -> str:
        """What has to stand on everything where no sandbox was used, otherwise ""."""
        return STAMP if self.sandbox == "none" else ""

    def as_json(self) -> dict[str, Any]:
        """As plain JSON data."""
        told: dict[str, Any] = {"warning": self.stamp} if self.stamp else {}
        told |= {"waiting": list(self.waiting)} if self.waiting else {}
        return told | {
            "lesson": self.lesson,
            "title": self.title,
            "sandbox": self.sandbox,
            "key": self.key,
            "grader": self.grader,
            "exercises": [vars(column) for column in self.columns],
            "submissions": [entry.as_json() for entry in self.entries],
            "roster": self.roster,
            "canvas": self.canvas,
            "shard": self.shard,
        }
