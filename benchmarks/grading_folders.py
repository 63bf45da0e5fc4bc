"""Submissions to grade: made from the solutions' own cells, the same for every grader."""

from __future__ import annotations

import ast
import random
from pathlib import Path

from nbformat import NotebookNode, from_dict

from helpers.checks import find, of_lesson
from helpers.course.build.lesson import CHECK_ID, lesson_of, number_of
from helpers.course.build.notebook import code_cells, read, text
from helpers.course.build.run import notebooks

ROOT = Path(__file__).parents[1]


def solution(lesson: str) -> NotebookNode:
    """The solution of a lesson such as "02"."""
    path = next(p for p in notebooks(ROOT / "solutions") if p.name[:2] == lesson)
    return read(path)


def one_exercise(number: str) -> NotebookNode:
    """A solution with one exercise alone: the imports, the answer, and its check."""
    notebook = solution(number[:2])
    first = next(code_cells(notebook))
    notebook.cells = [
        cell
        for cell in code_cells(notebook)
        if cell is first or number in (number_of(cell), number_of(cell, CHECK_ID))
    ]
    return notebook


def handed_in(notebook: NotebookNode) -> NotebookNode:
    """What a student hands in who answers as the solution does: no hidden tests, no marks."""
    answers = {number_of(c): c.source for c in code_cells(notebook) if number_of(c)}
    lesson = lesson_of(notebook)
    for cell in code_cells(lesson):
        if number_of(cell):
            cell.source = answers[number_of(cell)]
    return lesson


def put(folder: Path, student: str, notebook: NotebookNode) -> Path:
    """Write a submission where the graders look for it."""
    path = folder / f"{student}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(notebook), encoding="utf-8")
    return path


def a_class(folder: Path, lesson: str, students: int) -> dict[str, dict[str, int]]:
    """A class's submissions: of the answers three in five are right, one in five is open, and one
    returns nothing. Returns the points that each is worth, by student and exercise."""
    chance, worth = random.Random(1), dict[str, dict[str, int]]()
    whole = handed_in(solution(lesson))
    for student in range(students):
        notebook = from_dict(whole.copy())
        right = {e.number: True for e in of_lesson(lesson)}
        notebook.cells = [from_dict(cell.copy()) for cell in whole.cells]
        for cell in code_cells(notebook):
            number = number_of(cell)
            if number is None or (drawn := chance.random()) < 0.6:
                continue
            right[number] = False
            last = find(number).stub if drawn < 0.8 else "return None"
            cell.source = without_body(cell.source, last)
        # Exercise 03.3 calls the average of 03.2.
        right["03.3"] = right.get("03.3", False) and right.get("03.2", True)
        name = f"student-{student:03d}"
        worth[name] = {e.number: e.points * right[e.number] for e in of_lesson(lesson)}
        put(folder, name, notebook)
    return worth


def without_body(source: str, last: str) -> str:
    """A cell's function with one line for its body."""
    node = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef))
    lines = source.splitlines()[node.lineno - 1 : node.body[0].end_lineno]
    return "\n".join([*lines, f"    {last}"])
