"""What may be wrong with a solution or a lesson, each as a sentence."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from nbformat import NotebookNode

from helpers.checks import of_lesson
from helpers.checks.spec import Exercise
from helpers.course.build.lesson import ANSWER_ID, CHECK_ID, number_of
from helpers.course.build.notebook import code_cells, code_hash, text
from helpers.course.build.outputs_of import imports_hash

LARGEST = 600_000
MARKS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN", "END HIDDEN", "instructor.hidden")
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s*=\s*["'][^"']+["']""", re.IGNORECASE)
_REGION = re.compile(
    r"^[^\n]*BEGIN SOLUTION[^\n]*\n(.*?)^[^\n]*END SOLUTION", re.DOTALL | re.MULTILINE
)


def solution_problems(notebook: NotebookNode, lesson: str) -> Iterator[str]:
    """Everything wrong with a solution. lesson: its number, such as "02"."""
    size = len(text(notebook).encode())
    if size > LARGEST:
        yield f"it takes {size // 1000} KB with its outputs; {LARGEST // 1000} KB are allowed"
    yield from _alt_texts(notebook)
    yield from _outputs(notebook)
    yield from _exercises(notebook, lesson)


def lesson_problems(lesson: NotebookNode, solution: NotebookNode) -> Iterator[str]:
    """What a lesson shows that it must not: solutions, hidden tests, outputs."""
    answers = [
        _bare(body) for cell in code_cells(solution) for body in _REGION.findall(cell.source)
    ]
    for cell in lesson.cells:
        leaked = [mark for mark in MARKS if mark in cell.source]
        if leaked:
            yield f'cell {cell.get("id")} holds "{leaked[0]}": a solution or a hidden test leaks'
        elif any(a in _bare(cell.source) for a in answers if a.count("\n") > 0):
            yield f"cell {cell.get('id')} holds the whole solution of an exercise"
        if cell.get("outputs"):
            yield f"cell {cell.get('id')} has outputs; a lesson has none"
        number = number_of(cell)
        if number and "is not done yet" not in cell.source:
            yield f"the cell of exercise {number} is not a stub"


def _bare(source: str) -> str:
    lines = (line.split("#")[0].strip() for line in source.splitlines())
    return "\n".join(line for line in lines if line)


def _alt_texts(notebook: NotebookNode) -> Iterator[str]:
    for cell in notebook.cells:
        where = f"cell {cell.get('id')}"
        sources = [cell.source] if cell.cell_type == "markdown" else []
        if any(not alt.strip() for source in sources for alt in _IMAGE.findall(source)):
            yield f"{where} has a picture without alt text"
        for output in cell.get("outputs", []):
            data, metadata = output.get("data", {}), output.get("metadata", {})
            if "image/png" in data and not metadata.get("image/png", {}).get("alt"):
                yield f"{where} shows a picture without alt text: use helpers.notebook.figures.show"
            sources.append(str(data.get("text/html", "")))
        if any(not _ALT.search(tag) for source in sources for tag in _TAG.findall(source)):
            yield f"{where} has an <img> without alt text"


def _outputs(notebook: NotebookNode) -> Iterator[str]:
    if any(cell.execution_count is None for cell in code_cells(notebook)):
        yield "its outputs are missing: run `./course build --run`"
    elif notebook.metadata.get("course", {}).get("executed") != code_hash(notebook):
        yield "its code was edited after its outputs were stored: run `./course build --run`"
    elif notebook.metadata.course.get("imports") != imports_hash(notebook):
        yield (
            "what its cells import was edited after its outputs were stored: run "
            "`./course build --run` for this lesson"
        )
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"cell {cell.get('id')} ended with {output.ename}"
            if output.output_type == "stream" and output.name == "stderr":
                yield f"cell {cell.get('id')} wrote to stderr: {output.text.strip()[:80]}"


def _exercises(notebook: NotebookNode, lesson: str) -> Iterator[str]:
    specs = {e.number: e for e in of_lesson(lesson)}
    answers, checks = _numbered(notebook, ANSWER_ID), _numbered(notebook, CHECK_ID)
    for number in sorted({n for n, _ in answers + checks} - specs.keys()):
        yield f"exercise {number} is in no spec of lesson {lesson}"
    for number, spec in specs.items():
        mine = [cell for n, cell in answers if n == number]
        its_check = [cell for n, cell in checks if n == number]
        if len(mine) != 1 or len(its_check) != 1:
            yield (
                f"exercise {number} has {len(mine)} answer cells and {len(its_check)} check cells; "
                "it needs one each"
            )
            continue
        yield from _answer(mine[0], spec)
        yield from _check(its_check[0], spec)
        yield from _box(notebook, spec)


def _numbered(notebook: NotebookNode, kind: re.Pattern[str]) -> list[tuple[str, NotebookNode]]:
    found = ((number_of(cell, kind), cell) for cell in notebook.cells)
    return [(number, cell) for number, cell in found if number is not None]


def _answer(cell: NotebookNode, spec: Exercise) -> Iterator[str]:
    marks = cell.metadata.nbgrader
    if not marks.get("solution") or marks.get("grade") or marks.get("locked"):
        yield f"the answer cell of {spec.number} must have solution true, grade and locked false"
    if not _REGION.search(cell.source):
        yield f"the answer cell of {spec.number} has no BEGIN SOLUTION and END SOLUTION"
    try:
        names = [getattr(node, "name", "") for node in ast.parse(cell.source).body]
    except SyntaxError as error:
        yield f"the answer cell of {spec.number} is not Python: {error}"
        return
    if spec.function not in names:
        yield f"the answer cell of {spec.number} does not define {spec.function}"


def _check(cell: NotebookNode, spec: Exercise) -> Iterator[str]:
    marks, name = cell.metadata.nbgrader, f"the check cell of {spec.number}"
    if not marks.get("grade") or marks.get("solution") or not marks.get("locked"):
        yield f"{name} must have grade and locked true, solution false"
    if marks.get("points") != spec.points:
        yield f"{name} gives {marks.get('points')} points, its spec {spec.points}"
    call = f'"{spec.number}", {spec.function})'
    if cell.source.splitlines()[-1].strip() != f"helpers.check({call}":
        yield f"{name} must end with helpers.check({call}"
    if "BEGIN HIDDEN TESTS" not in cell.source or f"require({call}" not in cell.source:
        yield f"{name} has no hidden test that calls require({call}"


def _box(notebook: NotebookNode, spec: Exercise) -> Iterator[str]:
    points = f"{spec.points} point{'s' if spec.points != 1 else ''}"
    wanted = (
        f"Exercise {spec.number} — {spec.title}",
        f"{'★' * spec.size.stars} · {spec.size.minutes} minutes · {points}",
    )
    markdown = [c.source for c in notebook.cells if c.cell_type == "markdown"]
    for words in wanted:
        box = [m for m in markdown if wanted[0] in m]
        if not any(words in m for m in (box or markdown)):
            yield f'exercise {spec.number} has no box that says "{words}"'
