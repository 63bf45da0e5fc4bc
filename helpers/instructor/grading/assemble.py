"""Submissions, people, grades and overrides put together as what the reports are made of."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.instructor.grades import ExerciseGrade, Mode, Outcome, SubmissionGrade
from helpers.instructor.grading import GradingError
from helpers.instructor.grading.discover import Submission, submission, told_apart
from helpers.instructor.grading.overrides import Overrides, apply
from helpers.instructor.grading.roster import Person, Roster, from_name
from helpers.instructor.report.sheet import Column, Entry

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


def entry(
    one: Submission,
    person: Person | None,
    grade: SubmissionGrade,
    by_hand: Overrides,
    handed_in: bool,
    listed: bool,
) -> Entry:
    """One line of the sheet, with the instructor's points. listed: whether there is a list."""
    graded, changed = apply(grade, by_hand.get(one.name, {}))
    notes = [one.note] if one.note and handed_in else []
    if listed and person is None:
        notes.append(UNLISTED)
    who = person or from_name(one.raw)
    return Entry(one.id, graded, changed, who, handed_in, " ".join(notes), one.taken)
