"""Releases to try things in: unpacked, with their lesson as it is or with answers in it."""

from __future__ import annotations

import copy
import os
import zipfile
from collections.abc import Collection
from pathlib import Path

from nbformat import NotebookNode

from helpers.exercises import lessons
from helpers.exercises.record import SWITCH
from helpers.instructor.build_lesson import CHECK_ID, number_of
from helpers.instructor.build_notebook import code_cells, read
from helpers.instructor.release import release
from helpers.workloads.repeats import MOST_REPEATS

# Everyday, each lesson runs once in its release: a few with all answers, whose checks take most of
# the time and are run by the tests of the exercises too; the others with none.
WITH_ANSWERS = ("02", "05", "09", "13")
WITHOUT = tuple(lesson for lesson in lessons() if lesson not in WITH_ANSWERS)
ROOT = Path(__file__).parents[1]


def unpack(lesson: str, folder: Path) -> Path:
    """Make the release of a lesson and unpack it in a folder; returns where."""
    release(lesson, folder / "lesson.zip")
    with zipfile.ZipFile(folder / "lesson.zip") as archive:
        archive.extractall(folder / lesson)
    return folder / lesson


def environment(unpacked: Path, *more: Path) -> dict[str, str]:
    """Of all copies of the course, this one is imported. more: other places to import from."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (unpacked, *more))),
        "PYTHONDONTWRITEBYTECODE": "1",
        MOST_REPEATS: "1",
        SWITCH: "off",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def lesson_in(unpacked: Path) -> NotebookNode:
    """The notebook of an unpacked release."""
    return read(next((unpacked / "lessons").glob("*.ipynb")))


def solution_of(lesson: str) -> NotebookNode:
    return read(next((ROOT / "solutions").glob(f"{lesson}_*.ipynb")))


def answered(notebook: NotebookNode, numbers: Collection[str] | None = None) -> NotebookNode:
    """A copy of a lesson with the solution's answers to these exercises, or to all of them."""
    filled = copy.deepcopy(notebook)
    lesson = next(number for c in code_cells(notebook) if (number := number_of(c)))[:2]
    cells = {number_of(cell): cell.source for cell in code_cells(solution_of(lesson))}
    for cell in code_cells(filled):
        number = number_of(cell)
        if number and (numbers is None or number in numbers):
            cell.source = cells[number]
    return filled


def with_stored_outputs(notebook: NotebookNode) -> NotebookNode:
    """A copy of an answered lesson that also has the solution's outputs."""
    filled = copy.deepcopy(notebook)
    lesson = next(number for c in code_cells(notebook) if (number := number_of(c, CHECK_ID)))[:2]
    stored = {cell.id: cell for cell in code_cells(solution_of(lesson))}
    for cell in code_cells(filled):
        cell.outputs = stored[cell.id].outputs
        cell.execution_count = stored[cell.id].execution_count
    return filled
