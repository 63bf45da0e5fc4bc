"""A lesson from its solution, by nbgrader's own preprocessors used as a library."""

from __future__ import annotations

import copy
import re
from typing import Any

from nbformat import NotebookNode

from helpers.checks import NoSuchExercise, find
from helpers.course.build.notebook import normalise

ANSWER_ID = re.compile(r"exercise-(\d\d)-(\d+)")
CHECK_ID = re.compile(r"check-(\d\d)-(\d+)")


def number_of(cell: NotebookNode, kind: re.Pattern[str] = ANSWER_ID) -> str | None:
    """The exercise that a cell belongs to, such as "02.1", by its grade_id; None for any other."""
    found = kind.fullmatch(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
    return f"{found[1]}.{found[2]}" if found else None


def lesson_of(solution: NotebookNode) -> NotebookNode:
    """What students get: stubs for solutions, no hidden tests, no outputs, locked and summed cells.

    Raises ValueError with a sentence where the solution is not as nbgrader needs it.
    """
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearHiddenTests,
        ClearMarkScheme,
        ClearOutput,
        ComputeChecksums,
        LockCells,
    )

    lesson = copy.deepcopy(solution)
    lesson.metadata.pop("course", None)
    for cell in lesson.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.pop("checksum", None)
            cell.metadata.nbgrader.pop("cell_type", None)
    steps: list[Any] = [
        LockCells(),
        _stubs(),
        ClearOutput(),
        ClearHiddenTests(),
        ClearMarkScheme(),
        ComputeChecksums(),
        CheckCellMetadata(),
    ]
    resources: dict[str, Any] = {"nbgrader": {}}
    try:
        for step in steps:
            lesson, resources = step.preprocess(lesson, resources)
    except NoSuchExercise as error:
        raise ValueError(str(error)) from error
    except Exception as error:  # nbgrader raises RuntimeError, ValidationError and others
        raise ValueError(f"nbgrader cannot make a lesson of it: {error}") from error
    for cell in lesson.cells:
        cell.source = cell.source.strip("\n")
    return normalise(lesson)


def _stubs() -> Any:
    """nbgrader's ClearSolutions, with each exercise's own stub."""
    from nbgrader.preprocessors import ClearSolutions

    class Stubs(ClearSolutions):
        def preprocess_cell(self, cell: Any, resources: Any, index: int) -> Any:
            number = number_of(cell)
            if number is not None:
                self.code_stub = {"python": find(number).stub}
            return super().preprocess_cell(cell, resources, index)

    return Stubs()
