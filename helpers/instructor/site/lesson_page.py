"""A lesson as a page: its own cells, with the outputs that its solution has stored.

What is shown is what a learner's copy of the course shows before an exercise is done: the recorded
outputs of the cells that build on an answer, and those of the cells that run without one. Answers
are stubs, and checks show nothing.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import nbformat
from nbformat import NotebookNode

from helpers.instructor.build_check import lesson_problems
from helpers.instructor.build_lesson import CHECK_ID, number_of
from helpers.instructor.build_notebook import code_cells
from helpers.instructor.release.cells import recorded, shown
from helpers.notebook.recorded import digest

_ABOUT = """\
:::{note}
This is the lesson as you find it, with its exercises open. Pictures and numbers are those of
another machine, made with the course's own answers. To do the exercises and to turn the knobs,
start it with `./course lab`: [what you need](../index.md#what-you-need).
:::"""
# A page cannot ask for predictions; the comparison says what came.
_NO_PREDICTION = re.compile(r" You made no prediction: [^<]*")
_KINDS = ("image/png", "text/html", "text/plain")  # the first of these that an output has


def page(lesson: NotebookNode, solution: NotebookNode) -> NotebookNode:
    """The notebook of a lesson's page. Raises ValueError with a sentence where the lesson is not
    what the solution builds, or holds more than that."""
    if [c.id for c in lesson.cells] != [c.id for c in solution.cells]:
        raise ValueError("it is not what its solution builds: run `./course build` first")
    if problems := [*lesson_problems(lesson, solution)]:
        raise ValueError(problems[0])
    made = copy.deepcopy(lesson)
    stored = {cell.id: cell for cell in code_cells(solution)}
    table = recorded(lesson, solution, set())
    for cell in code_cells(made):
        cell.metadata = NotebookNode()
        if number_of(stored[cell.id]) or number_of(stored[cell.id], CHECK_ID):
            continue
        entry = table.get(digest(cell.source))
        outputs = entry["outputs"] if entry else map(shown, stored[cell.id].outputs)
        cell.outputs = [NotebookNode(kept) for one in outputs if (kept := _printed(one))]
    about = nbformat.v4.new_markdown_cell(_ABOUT, id="about-this-page")
    made.cells.insert(1, about)
    return made


def _printed(output: dict[str, Any]) -> dict[str, Any] | None:
    """An output as paper has it: of one kind, and without what only a kernel could answer."""
    if output["output_type"] == "stream":
        return output if output["text"].strip() else None
    kind = next((kind for kind in _KINDS if kind in output["data"]), None)
    if kind is None:
        return None
    value = output["data"][kind]
    if kind == "text/html":
        value = _NO_PREDICTION.sub("", value).replace(' role="status"', "")
    metadata = output.get("metadata", {})
    return {
        "output_type": "display_data",
        "data": {kind: value},
        "metadata": metadata if kind == "image/png" else {},
    }
