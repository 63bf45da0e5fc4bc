"""Submissions, people, grades and points set by hand put together as lines of the reports."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.grade.discover import Submission, submission, told_apart
from helpers.grade.grades import SubmissionGrade
from helpers.grade.overrides import Overrides, apply
from helpers.grade.report.sheet import Column, Entry
from helpers.grade.roster import Person, Roster, from_name
from helpers.grade.wish import GradingError

ABSENT = "Nothing was handed in."
UNLISTED = "The class list has nobody for this submission."
People = list[tuple[Submission, Person | None]]


def whose(here: Sequence[Submission], listed: Roster | None) -> People:
    """What was handed in with the person of each, and those on the list who are not among them."""
    if listed is None:
        return [(one, None) for one in here]
    matched = listed.match([one.raw for one in here])
    people = {one.raw: person for one, person in zip(here, matched, strict=True)}
    everybody = list(here)
    for person in listed.people:
        if person not in matched:
            name, number = person.called, 2
            while name in people:  # somebody else's submission has it
                name, number = f"{person.called} ({number})", number + 1
            people[name] = person
            everybody.append(submission(name, None, ABSENT))
    return [(one, people[one.raw]) for one in told_apart(everybody)]


def columns(lesson: str) -> tuple[Column, ...]:
    """The lesson's exercises. Raises GradingError where it has none."""
    from helpers.checks import of_lesson
    from helpers.checks.report import parts_of

    graded = [(one.number, one.title, float(one.points)) for one in of_lesson(lesson)]
    graded += [(one.number, one.title, float(one.points)) for one in parts_of(lesson)]
    if not graded:
        raise GradingError(f"Lesson {lesson} has no exercises, so there is nothing to grade.")
    return tuple(Column(*one) for one in graded)


def entry(
    one: Submission,
    person: Person | None,
    grade: SubmissionGrade,
    by_hand: Overrides,
    notes: Sequence[str],
) -> Entry:
    """One line of the sheet, with the instructor's points. notes: of how it was found."""
    graded, changed = apply(grade, by_hand.get(one.name, {}))
    handed_in = one.path is not None
    found = " ".join(note for note in notes if note)
    return Entry(one.id, graded, changed, person or from_name(one.raw), handed_in, found, one.taken)
