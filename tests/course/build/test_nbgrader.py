"""nbgrader itself on our notebooks: full points for the solution, none for the untouched lesson.

Its own `generate_assignment`, `autograde` and `generate_feedback` run as it would be used in a
course that stays with it. Autograding executes every cell, so a lesson takes as long as it runs:
lesson 02 is graded whole, others without the demonstrations between their exercises.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

from helpers.checks import of_lesson
from helpers.course.build.lesson import number_of
from helpers.course.build.notebook import code_cells, read, text

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[3]
SECONDS = 300
WHOLE = "02"
# All are made by the same build, which test_build holds: lessons with ranks, one process, splits.
GRADED = ["00", *(pytest.param(n, marks=pytest.mark.thorough) for n in ("02", "11", "14"))]
UNTOUCHED = ("00", "11", "14")


def course(folder: Path) -> Any:
    """nbgrader's programming interface on a course in a folder of its own."""
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    config = Config()
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.course_id = "course"
    config.Exchange.root = str(folder / "exchange")
    config.Execute.timeout = SECONDS
    config.NbGraderAPI.log_level = "ERROR"
    return NbGraderAPI(config=config)


def short(notebook: NotebookNode) -> NotebookNode:
    """A notebook without its demonstrations; the names that they give to answers stay."""
    first = next(code_cells(notebook))
    for cell in code_cells(notebook):
        if cell is not first and "nbgrader" not in cell.metadata:
            given = re.findall(r"^\w+ = helpers\.mine_or_yours\(.*\)$", cell.source, re.MULTILINE)
            cell.source = "\n".join(given)
    return notebook


def hand_in(folder: Path, student: str, name: str, notebook: NotebookNode) -> None:
    """Put a notebook where nbgrader looks for a student's submission of `lesson`."""
    path = folder / "submitted" / student / "lesson" / name
    path.parent.mkdir(parents=True)
    path.write_text(text(notebook), encoding="utf-8")


def with_answers(released: NotebookNode, solution: NotebookNode) -> NotebookNode:
    """What a student hands in whose answers are the solution's."""
    answers = {number_of(c): c.source for c in code_cells(solution) if number_of(c)}
    for cell in code_cells(released):
        if number_of(cell):
            cell.source = answers[number_of(cell)]
    return released


def scores(folder: Path) -> dict[str, tuple[float, float]]:
    """Points and the most there are, by student."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder}/gradebook.db") as gradebook:
        found = gradebook.assignment_submissions("lesson")
        return {one.student.id: (one.score, one.max_score) for one in found}


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("lesson", GRADED)
def test_nbgrader_grades_our_notebooks(
    lesson: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It calls alembic, a command that is installed with it.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "exchange").mkdir()
    name = next((ROOT / "solutions").glob(f"{lesson}_*.ipynb")).name
    cut = (lambda notebook: notebook) if lesson == WHOLE else short
    solution = cut(read(ROOT / "solutions" / name))
    source = tmp_path / "source" / "lesson" / name
    source.parent.mkdir(parents=True)
    source.write_text(text(solution), encoding="utf-8")
    nbgrader = course(tmp_path)

    made = nbgrader.generate_assignment("lesson")
    assert made["success"], made.get("log")
    released = tmp_path / "release" / "lesson" / name
    handed_out = released.read_text(encoding="utf-8")
    assert "BEGIN SOLUTION" not in handed_out and "instructor.hidden" not in handed_out

    hand_in(tmp_path, "solved", name, with_answers(read(released), solution))
    points = float(sum(exercise.points for exercise in of_lesson(lesson)))
    wanted = {"solved": (points, points)}
    if lesson in UNTOUCHED:
        # The untouched lesson is ours, which nbgrader takes for its own.
        hand_in(tmp_path, "untouched", name, cut(read(ROOT / "lessons" / name)))
        wanted["untouched"] = (0.0, points)
    for student in wanted:
        graded = nbgrader.autograde("lesson", student)
        assert graded["success"], graded.get("log")
        told = nbgrader.generate_feedback("lesson", student)
        assert told["success"], told.get("log")
        page = tmp_path / "feedback" / student / "lesson" / source.with_suffix(".html").name
        assert f"check-{lesson}-1" in page.read_text(encoding="utf-8")

    assert scores(tmp_path) == wanted
