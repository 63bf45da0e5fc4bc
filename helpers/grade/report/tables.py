"""Tables of points, and the files for learning management systems: Canvas, Moodle, Gradescope."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from helpers.grade.files import formula_safe, printable
from helpers.grade.grades import NOT_JUDGED, ExerciseGrade
from helpers.grade.report.sheet import NO_FAULT, Entry, Sheet


def number(value: float) -> str:
    """Points as short as they are exact: 2, 2.5."""
    return f"{value:.10g}"


def table(rows: Sequence[Sequence[str | float]]) -> bytes:
    """Rows of text and numbers as CSV in UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(formula_safe(one) if isinstance(one, str) else one for one in row)
    return printable(text.getvalue(), lines=True).encode("utf-8")


def grades_table(sheet: Sheet) -> bytes:
    """The points of everybody. A name that begins like a formula has an apostrophe before it.

    An exercise that was not judged has these words for points, and the total is without it.
    """
    rows = [["submission", "total", "max", *(column.number for column in sheet.columns)]]
    for entry in sheet.entries:
        grade = entry.grade
        points = [
            NOT_JUDGED if exercise.outcome == NOT_JUDGED else number(exercise.points)
            for exercise in grade.exercises
        ]
        rows.append([grade.submission, number(grade.total), number(grade.max), *points])
    return table(rows)


def canvas(sheet: Sheet) -> bytes:
    """For "Import" in Canvas's gradebook, which finds a student by ID, SIS User ID, SIS Login ID or
    name, in this order, and an assignment by the column's name (Canvas, gradebook_importer.rb).

    Who was not judged in full has no line: this file has no place for a word, Canvas lets students
    be who are not in it, and would take an empty cell for a grade that is withdrawn.
    """
    column = sheet.canvas or f"Lesson {sheet.lesson}"
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", column]]
    rows.append(["    Points Possible", "", "", "", "", number(sheet.max)])
    for entry in sheet.entries:
        if entry.grade.not_judged:
            continue
        person = entry.person
        name = person.name or entry.grade.submission
        known = [name, person.canvas_id, person.sis_user, person.login, person.section]
        rows.append([*known, number(entry.grade.total)])
    return table(rows)


def moodle(sheet: Sheet) -> bytes:
    """For "Upload grading worksheet" in a Moodle assignment, which finds a student by Identifier
    and wants the column "Last modified (grade)" (Moodle, assignfeedback_offline), and for "CSV
    import" in its gradebook, where "Email address" can stand for the student.

    Comments hold outcomes and the instructor's words, nothing that a student wrote. Who was not
    judged in full has a comment and no grade; Moodle keeps the one that it has.
    """
    header = ["Identifier", "Full name", "Email address", "Grade", "Maximum Grade"]
    rows = [[*header, "Last modified (grade)", "Feedback comments"]]
    for entry in sheet.entries:
        person = entry.person
        who = [person.participant, person.name or entry.grade.submission, person.email]
        total = "" if entry.grade.not_judged else number(entry.grade.total)
        points = [total, number(entry.grade.max), person.modified]
        rows.append([*who, *points, _comment(sheet, entry)])
    return table(rows)


def _comment(sheet: Sheet, entry: Entry) -> str:
    parts = [
        f"{one.number} {one.title}: {one.outcome}"
        + ("" if one.outcome == NOT_JUDGED else f", {number(one.points)} of {number(one.max)}")
        for one in entry.grade.exercises
    ]
    parts += [
        f"{one.exercise} was set by your instructor" + (f": {one.comment}" if one.comment else "")
        for one in entry.overrides
    ]
    return "; ".join([*parts, *([sheet.stamp] if sheet.stamp else [])])


def gradescope(sheet: Sheet, entry: Entry) -> dict[str, Any]:
    """What an autograder leaves for Gradescope as /autograder/results/results.json. All of it is
    plain text: nothing is markup there. The score is of what was judged, and the output opens with
    what was not.
    """
    by_hand = {one.exercise: one.comment for one in entry.overrides}
    stamped = {"warning": sheet.stamp} if sheet.stamp else {}
    open_ = ", ".join(entry.grade.not_judged)
    unjudged = f"Not judged: {open_}. The score is without that. {NO_FAULT}" if open_ else ""
    return {
        "score": entry.grade.total,
        "output": "\n".join(
            part
            for part in (unjudged, sheet.name, sheet.stamp, entry.taken, entry.grade.note)
            if part
        ),
        "output_format": "text",
        "test_name_format": "text",
        "test_output_format": "text",
        "visibility": "visible",
        "extra_data": {"lesson": sheet.lesson, "sandbox": sheet.sandbox} | stamped,
        "tests": [_test(one, by_hand.get(one.number)) for one in entry.grade.exercises],
    }


def _test(exercise: ExerciseGrade, by_hand: str | None) -> dict[str, Any]:
    unjudged = NO_FAULT if exercise.outcome == NOT_JUDGED else ""
    said = [unjudged, exercise.reason, exercise.hint]
    if by_hand is not None:
        said.append(f"Points set by your instructor. {by_hand}".strip())
    return {
        "number": exercise.number,
        "name": f"{exercise.title} ({exercise.outcome})",
        "score": exercise.points,
        "max_score": exercise.max,
        "status": "passed" if exercise.outcome == "passed" else "failed",
        "output": "\n".join(part for part in said if part),
        "visibility": "visible",
    }
