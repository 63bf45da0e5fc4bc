"""Releases to try things in: unpacked, with their lesson as it is or with answers in it."""

from __future__ import annotations

import ast
import copy
import os
import symtable
import zipfile
from collections.abc import Collection
from pathlib import Path

import pytest
from nbformat import NotebookNode

from helpers.checks import of_lesson
from helpers.course.build.lesson import CHECK_ID, number_of
from helpers.course.build.notebook import code_cells, read
from helpers.grade.release import pack, release
from helpers.notebook.record import SWITCH
from helpers.notebook.repeats import MOST_REPEATS

# Everyday three lessons run in their releases with all answers, the quickest of those that live on
# torch, on TensorFlow and on Horovod; and one with none.
WITH_ANSWERS = ("02", "01", "04")
WITHOUT = ("07",)
ROOT = Path(__file__).parents[1]
IGNORED = "nbval-ignore-output"


def unpack(lesson: str, folder: Path, hints: bool = True) -> Path:
    """Make the release of a lesson and unpack it in a folder; returns where.

    hints: see `pack_without_hints`.
    """
    (release if hints else pack_without_hints)(lesson, folder / "lesson.zip")
    with zipfile.ZipFile(folder / "lesson.zip") as archive:
        archive.extractall(folder / lesson)
    return folder / lesson


def pack_without_hints(lesson: str, out: Path) -> None:
    """Make a release without finding out what wrong answers do, which starts processes."""

    def nothing(number: str) -> dict[str, object]:
        return {exercise.number: {} for exercise in of_lesson(number)}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pack, "outcomes", nothing)
        release(lesson, out)


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


def compared(notebook: NotebookNode) -> NotebookNode:
    """A copy with those cells alone whose outputs are compared, and what they need."""
    cut, needed, kept = copy.deepcopy(notebook), set[str](), list[NotebookNode]()
    for cell in reversed(cut.cells):
        if cell.cell_type != "code":
            continue
        made, used = names_in(cell.source)
        ignored = IGNORED in cell.metadata.get("tags", ()) or "predict" in cell.source
        if not ignored or made & needed:
            needed |= used
            kept.append(cell)
    cut.cells = kept[::-1]
    return cut


def names_in(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell makes, and those of others that it uses, in its functions too."""
    made, used = set[str](), set[str]()
    for statement in ast.parse(source).body:
        scopes = [symtable.symtable(ast.unparse(statement), "cell", "exec")]
        here = {each.get_name() for each in scopes[0].get_symbols() if each.is_assigned()}
        here |= {each.get_name() for each in scopes[0].get_symbols() if each.is_imported()}
        loops = [n for n in ast.walk(statement) if isinstance(n, ast.For | ast.With)]
        asked = set[str]()
        for scope in scopes:
            scopes += scope.get_children()
            for each in scope.get_symbols():
                if each.is_referenced() and (each.is_global() or scope is scopes[0]):
                    asked.add(each.get_name())
        used |= asked - made - (here if loops else set())
        made |= here
    return made, used
