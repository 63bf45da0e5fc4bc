"""Submissions, results and overrides put together as the sheet that the reports are made of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.instructor.grades import ExerciseGrade, Mode, Outcome, SubmissionGrade
from helpers.instructor.grading import GradingError
from helpers.instructor.grading.discover import Submission, discover, submission, told_apart
from helpers.instructor.grading.overrides import Overrides, apply
from helpers.instructor.grading.roster import Person, Roster, from_name, read_roster
from helpers.instructor.report.sheet import Column, Entry, Sheet

ABSENT = "Nothing was handed in."
Load = Callable[[str], "SubmissionGrade | None"]
UNLISTED = "The class list has nobody for this submission."


@dataclass(frozen=True)
class Found:
    """All submissions, with the person of each. canvas: the lesson's column in Canvas."""

    submissions: tuple[Submission, ...]
    people: tuple[Person | None, ...]
    canvas: str = ""

    def part(self, number: int, of: int) -> Found:
        """The `number`-th of `of` parts, from 1."""
        pairs = [
            (one, person)
            for one, person in zip(self.submissions, self.people, strict=True)
            if is_in_part(one.id, number, of)
        ]
        return Found(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), self.canvas)


def is_in_part(identity: str, number: int, of: int) -> bool:
    """Where a submission goes depends on its id alone: no node has to know what another one saw."""
    return int(hashlib.sha256(identity.encode()).hexdigest(), 16) % of == number - 1


def found(folder: Path, lesson: str, roster: Path | None) -> Found:
    """What was handed in, and by the class list also who handed in nothing. Raises GradingError."""
    here = discover(folder, lesson)
    if roster is None and not here:
        raise GradingError(
            f"{folder} holds no submissions: it needs a folder or a notebook for each student."
        )
    return whose(here, None if roster is None else read_roster(roster, lesson))


def whose(here: Sequence[Submission], listed: Roster | None) -> Found:
    """What was handed in with the person of each, and those on the list who are not among them."""
    if listed is None:
        return Found(tuple(here), tuple(None for _ in here))
    here = list(here)
    people = dict(zip((one.raw for one in here), listed.match([s.raw for s in here]), strict=True))
    present = set(filter(None, people.values()))
    for person in listed.people:
        if person not in present:
            name = _free(person.called, people)
            people[name] = person
            here.append(submission(name, None, ABSENT))
    ordered = told_apart(here)
    return Found(tuple(ordered), tuple(people[one.raw] for one in ordered), listed.canvas)


def _free(name: str, taken: dict[str, Person | None]) -> str:
    """The name, or with a number where somebody else's submission has it."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def columns(lesson: str) -> tuple[Column, ...]:
    """The lesson's exercises. Raises GradingError where it has none."""
    from helpers.checks import of_lesson
    from helpers.checks.report import Part, parts_of
    from helpers.checks.spec import Exercise

    graded: list[Exercise | Part] = [*of_lesson(lesson), *parts_of(lesson)]
    made = tuple(Column(one.number, one.title, float(one.points)) for one in graded)
    if not made:
        raise GradingError(f"Lesson {lesson} has no exercises, so there is nothing to grade.")
    return made


def without_points(
    name: str,
    lesson: str,
    seed: int,
    mode: Mode,
    exercises: Sequence[Column],
    outcome: Outcome,
    why: str,
) -> SubmissionGrade:
    """The grade of a submission that no judge has seen, or that no judge got through."""
    made = [
        ExerciseGrade(one.number, one.title, outcome, 0.0, one.points, reason=why)
        for one in exercises
    ]
    return SubmissionGrade(name, lesson, seed, mode, tuple(made), note=why)


def sheet(
    empty: Sheet, found: Found, load: Load, by_hand: Overrides, seed: Callable[[str], int]
) -> Sheet:
    """The sheet with an entry for each submission.

    load: the grade of an id, None where there is none. seed: by a submission's name on disk.
    """
    entries = []
    for one, person in zip(found.submissions, found.people, strict=True):
        grade = load(one.id) if one.path is not None else None
        handed_in = grade is not None
        if grade is None:
            grade = without_points(
                one.name,
                empty.lesson,
                seed(one.raw),
                empty.sandbox,
                empty.columns,
                "missing",
                one.note or "There is no result for this submission.",
            )
        entries.append(entry(one, grade, person, empty.roster, handed_in, by_hand))
    return replace(empty, entries=tuple(entries))


def entry(
    one: Submission,
    grade: SubmissionGrade,
    person: Person | None,
    roster: bool,
    handed_in: bool,
    by_hand: Overrides,
) -> Entry:
    """One line of the sheet, with the instructor's points."""
    graded, changed = apply(grade, by_hand.get(one.name, {}))
    notes = [one.note] if one.note and handed_in else []
    if roster and person is None:
        notes.append(UNLISTED)
    who = person or from_name(one.raw)
    return Entry(
        one.id,
        one.raw,
        graded,
        changed,
        who,
        person is not None,
        handed_in,
        " ".join(notes),
        one.taken,
    )
