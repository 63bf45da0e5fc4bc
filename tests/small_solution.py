"""A small solution of lesson 00 to build from, in order or with a defect."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers.checks import find
from helpers.course.build.notebook import normalise, ran, read, text

NAME = "00_start_here.ipynb"
PICTURE = "iVBORw0KGgo="
ANSWER = {"grade": False, "locked": False, "solution": True}
CHECK = {"grade": True, "locked": True, "solution": False, "points": 1}


def marked(cell: NotebookNode, grade_id: str, marks: Mapping[str, object]) -> NotebookNode:
    """A cell with nbgrader's metadata."""
    cell.metadata["nbgrader"] = {"schema_version": 3, "task": False, "grade_id": grade_id, **marks}
    return cell


def answer_source() -> str:
    """The reference of 00.1 as a solution's cell."""
    lines = inspect.getsource(find("00.1").reference).splitlines()
    body = "\n".join(line for line in lines[2:] if '"""' not in line)
    return (
        'def roll_call(comm):\n    """What every rank says."""\n    ### BEGIN SOLUTION\n'
        f"{textwrap.indent(textwrap.dedent(body), '    ')}\n    ### END SOLUTION"
    )


def solution() -> NotebookNode:
    """A small solution of lesson 00, as if it had been run."""
    exercise = find("00.1")
    box = (
        f"### Exercise 00.1 — {exercise.title}\n\n★ · {exercise.size.minutes} minutes · 1 point\n\n"
        "Say your number."
    )
    check = (
        "### BEGIN HIDDEN TESTS\nfrom helpers.grade.hidden import require\n"
        'require("00.1", roll_call)\n### END HIDDEN TESTS\nhelpers.check("00.1", roll_call)'
    )
    cells = [
        new_markdown_cell("# Start here", id="title"),
        new_code_cell("import helpers", id="imports"),
        new_markdown_cell(box, id="box-00-1"),
        marked(new_code_cell(answer_source(), id="exercise-00-1"), "exercise-00-1", ANSWER),
        marked(new_code_cell(check, id="check-00-1"), "check-00-1", CHECK),
        new_code_cell("print(1)", id="print", outputs=[new_output("stream", text="1\n")]),
    ]
    notebook = new_notebook(cells=cells)
    for count, cell in enumerate((c for c in cells if c.cell_type == "code"), 1):
        cell.execution_count = count
    ran(notebook)
    return notebook


def put(root: Path, notebook: NotebookNode, folder: str = "solutions") -> Path:
    """Write a notebook in its normal form."""
    path = root / folder / NAME
    path.parent.mkdir(exist_ok=True)
    path.write_text(text(normalise(notebook)), encoding="utf-8")
    return path


def cell_of(notebook: NotebookNode, name: str) -> NotebookNode:
    """The cell with an id."""
    return next(cell for cell in notebook.cells if cell.id == name)


def edit(root: Path, folder: str, change: Callable[[NotebookNode], None]) -> None:
    """Change one of the two files and leave the other alone."""
    path = root / folder / NAME
    notebook = read(path)
    change(notebook)
    path.write_text(text(notebook), encoding="utf-8")


def shows(data: dict[str, str], metadata: dict[str, object] | None = None) -> NotebookNode:
    """An output with a picture or a text of its own."""
    return new_output("display_data", data=data, metadata=metadata or {})
