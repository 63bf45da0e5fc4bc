"""All reports of a class, in OUT. The same sheet gives the same bytes.

Somebody may read them meanwhile. Each file is whole at every moment, no page names one that is not
there, and they change within moments of each other: all are made before the first is written.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

from helpers.grade.files import as_json, keep_only, write
from helpers.grade.report.pages import class_page, student_page
from helpers.grade.report.sheet import Entry, Sheet
from helpers.grade.report.tables import canvas, grades_table, gradescope, moodle

NOT_SANDBOXED = "NOT_SANDBOXED.txt"


def write_reports(sheet: Sheet, out: Path) -> None:
    """Write everything; pages of students who are not in the sheet are removed."""
    head = replace(sheet, entries=(), waiting=(), strays=())
    files = {name: data for one in sheet.entries for name, data in _of_student(head, one).items()}
    files |= {
        "canvas.csv": canvas(sheet),
        "moodle.csv": moodle(sheet),
        "class.html": class_page(sheet),
        "grades.csv": grades_table(sheet),
        "grades.json": as_json(sheet.as_json()),
    }
    if sheet.stamp:
        write(out / NOT_SANDBOXED, f"{sheet.stamp}\n".encode())
    else:
        (out / NOT_SANDBOXED).unlink(missing_ok=True)
    for name, data in files.items():
        write(out / name, data)
    keep_only(out / "students", {f"{entry.id}.html" for entry in sheet.entries})
    keep_only(out / "gradescope", {entry.id for entry in sheet.entries})


@functools.lru_cache(maxsize=2048)  # a watch makes them again and again
def _of_student(head: Sheet, entry: Entry) -> dict[str, bytes]:
    """A student's files by their names. head: the sheet without anybody."""
    return {
        f"students/{entry.id}.html": student_page(head, entry),
        f"gradescope/{entry.id}/results.json": as_json(gradescope(head, entry)),
    }
