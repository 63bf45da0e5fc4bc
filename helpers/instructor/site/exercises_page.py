"""A page that lists every exercise of the course, and where those of the chapter are answered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from helpers.checks import of_lesson
from helpers.checks.spec import Exercise
from helpers.instructor.build_notebook import read
from helpers.instructor.site.links import anchor

MAP = "exercises"  # the cell of the capstone that maps the chapter's exercises
_HEAD = """\
# The exercises

Each line is an exercise, with its difficulty, the minutes that it takes and its points. In all,
{count} exercises, {points} points and {hours} hours.
"""
_COLUMNS = "| exercise | difficulty | minutes | points |\n| --- | --- | ---: | ---: |"


def exercises_page(lessons: Sequence[Path]) -> str:
    """The page in Markdown. lessons: the notebooks, in order."""
    asked = {path: of_lesson(path.name[:2]) for path in lessons}
    every = [exercise for found in asked.values() for exercise in found]
    minutes = sum(exercise.size.minutes for exercise in every)
    points = sum(exercise.points for exercise in every)
    head = _HEAD.format(count=len(every), points=points, hours=round(minutes / 60))
    listed = [block for path, found in asked.items() for block in _lesson(path, found)]
    return "\n".join([head, *listed, *_chapter(lessons)])


def _lesson(path: Path, exercises: Sequence[Exercise]) -> Iterator[str]:
    title = read(path).cells[0].source.splitlines()[0].lstrip("# ")
    yield f"## [{title}](lessons/{path.name})\n\n{_COLUMNS}"
    for one in exercises:
        heading = anchor(f"Exercise {one.number} — {one.title}")
        link = f"[{one.number} {one.title}](lessons/{path.name}#{heading})"
        yield f"| {link} | {'★' * one.size.stars} | {one.size.minutes} | {one.points} |"
    yield ""


def _chapter(lessons: Sequence[Path]) -> Iterator[str]:
    """The capstone's map, with its links as they are from here."""
    for path in lessons:
        for cell in read(path).cells:
            if cell.id == MAP:
                here = cell.source.replace("](#", f"](lessons/{path.name}#")
                yield re.sub(r"\]\((\d\d_)", r"](lessons/\1", here)
