"""What the reports are made of: every submission of a class with its grade, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from helpers.grade.grades import Mode, SubmissionGrade, Took
from helpers.grade.overrides import Override
from helpers.grade.roster import Person

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
    """One submission. id: of its files. grade: with the overrides in it. person: who it belongs to,
    as the class list or its own name says. found: what the instructor should know about how it was
    found. taken: which notebook was taken of several, for the student too. took: shown to the
    instructor.
    """

    id: str
    grade: SubmissionGrade
    overrides: tuple[Override, ...]
    person: Person
    handed_in: bool
    found: str = ""
    taken: str = ""
    took: Took | None = None

    @property
    def notes(self) -> list[str]:
        """What the instructor should know about the whole submission, a sentence each."""
        return [note for note in (self.taken, self.found, self.grade.note) if note]

    def as_json(self) -> dict[str, Any]:
        """As plain JSON data."""
        made = asdict(self)
        del made["took"]
        return made.pop("grade") | made | {"total": self.grade.total, "max": self.grade.max}


@dataclass(frozen=True)
class Sheet:
    """A whole class. key: the fingerprint of the key behind the seeds. grader: its version. canvas:
    the column of this lesson in Canvas. waiting: names of submissions that are here and whose grade
    is not, where the folder is watched. strays: what is told of files that are nobody's.
    """

    lesson: str
    title: str
    sandbox: Mode
    key: str
    grader: str
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    canvas: str = ""
    waiting: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()

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
        for name in ("lesson", "title", "sandbox", "key", "grader"):
            told[name] = getattr(self, name)
        told["exercises"] = [asdict(column) for column in self.columns]
        return told | {"submissions": [entry.as_json() for entry in self.entries]}
