"""All reports of a class, in OUT. The same sheet gives the same bytes."""

from __future__ import annotations

from pathlib import Path

from helpers.instructor.grading.files import as_json, keep_only, write
from helpers.instructor.report.pages import class_page, slowest_page, student_page
from helpers.instructor.report.sheet import Sheet
from helpers.instructor.report.systems import canvas, gradescope, moodle
from helpers.instructor.report.tables import grades_table

NOT_SANDBOXED = "NOT_SANDBOXED.txt"


def write_reports(sheet: Sheet, out: Path) -> None:
    """Write everything; pages of students who are not in the sheet are removed."""
    pages = {f"{entry.id}.html": entry for entry in sheet.entries}
    keep_only(out / "students", set(pages))
    keep_only(out / "gradescope", {entry.id for entry in sheet.entries})
    for name, entry in pages.items():
        write(out / "students" / name, student_page(sheet, entry))
        told = as_json(gradescope(sheet, entry))
        write(out / "gradescope" / entry.id / "results.json", told)
    write(out / "canvas.csv", canvas(sheet))
    write(out / "moodle.csv", moodle(sheet))
    if sheet.stamp:
        write(out / NOT_SANDBOXED, f"{sheet.stamp}\n".encode())
    else:
        (out / NOT_SANDBOXED).unlink(missing_ok=True)
    write(out / "run" / "slowest.html", slowest_page(sheet, out / "run" / "timings.jsonl"))
    write(out / "class.html", class_page(sheet))
    write(out / "grades.csv", grades_table(sheet))
    write(out / "grades.json", as_json(sheet.as_json()))
