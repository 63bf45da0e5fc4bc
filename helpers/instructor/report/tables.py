"""grades.csv: `submission,total,max`, then a column an exercise."""

from __future__ import annotations

from helpers.instructor.grades import NOT_JUDGED
from helpers.instructor.report.cells import number, table
from helpers.instructor.report.sheet import Sheet


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
