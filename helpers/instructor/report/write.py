"""All reports of a class, in OUT. The same sheet gives the same bytes.

Somebody may read them meanwhile. Each file is whole at every moment, no page names one that is not
there, and they change within moments of each other: all are made before the first is written.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from helpers.instructor.grading.files import as_json, keep_only, write
from helpers.instructor.report.pages import class_page, slowest_page, student_page
from helpers.instructor.report.sheet import Sheet
from helpers.instructor.report.systems import canvas, gradescope, moodle
from helpers.instructor.report.tables import grades_table

NOT_SANDBOXED = "NOT_SANDBOXED.txt"


def write_reports(sheet: Sheet, out: Path, before: Sheet | None = None) -> None:
    """Write everything; pages of students who are not in the sheet are removed.

    before: the sheet that OUT has the reports of, if that is known: what would be written as it
    is there is not.
    """
    files = {
        **_of_students(sheet, before),
        "canvas.csv": canvas(sheet),
        "moodle.csv": moodle(sheet),
        "run/slowest.html": slowest_page(sheet, out / "run" / "timings.jsonl"),
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


def _of_students(sheet: Sheet, before: Sheet | None) -> dict[str, bytes]:
    """The files of each student whose entry is not what it was, by their names."""
    known = {}
    if before is not None and replace(sheet, entries=(), waiting=()) == replace(
        before, entries=(), waiting=()
    ):
        known = {entry.id: entry for entry in before.entries}
    files = {}
    for entry in sheet.entries:
        if known.get(entry.id) != entry:
            files[f"students/{entry.id}.html"] = student_page(sheet, entry)
            told = as_json(gradescope(sheet, entry))
            files[f"gradescope/{entry.id}/results.json"] = told
    return files
