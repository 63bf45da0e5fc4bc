"""The site's pages as Sphinx reads them: texts with mended links, lessons with stored outputs."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from nbformat import NotebookNode

from helpers.checks import of_lesson
from helpers.course.build.check import lesson_problems
from helpers.course.build.lesson import CHECK_ID, number_of
from helpers.course.build.notebook import code_cells, read
from helpers.grade.release.cells import recorded, shown
from helpers.notebook.recorded import digest

_FENCED = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)  # beside one, a picture's tag stays raw HTML
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]*)(#[^)]*)?\)")

# --- links ----------------------------------------------------------------------------------------


def anchor(title: str) -> str:
    """A heading's anchor as GitHub and the site have it; of JupyterLab's, the same.

    JupyterLab keeps capital letters and punctuation, so links between notebooks have both.
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def mended(text: str, at: str, held: Collection[str]) -> str:
    """A text in which each link leads to the web, to a heading, or to what the site holds.

    at: the text's own path from the course's folder, `held` likewise. Where a link's words name
    the file, they become code: `[constraints.txt](constraints.txt)` is `constraints.txt`.
    HTML comments go.
    """

    def instead(found: re.Match[str]) -> str:
        words, target, heading = found.groups()
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = os.path.normpath(PurePosixPath(at).parent / target)
        if not target or path in held:
            return f"[{words}]({target}{'#' + anchor(heading[1:]) if heading else ''})"
        return f"`{words}`" if path.endswith(words) else words

    return "".join(
        part if part.startswith("```") else _LINK.sub(instead, _COMMENT.sub("", part))
        for part in _FENCED.split(text)
    )


# --- a lesson -------------------------------------------------------------------------------------

_ABOUT = """\
:::{note}
This is the lesson as you find it, with its exercises open. Pictures and numbers are those of
another machine, made with the course's own answers. To do the exercises and to turn the knobs,
start it with `./course lab`: [how](../index.md).
:::"""
# A page cannot ask for predictions; the comparison says what came.
_NO_PREDICTION = re.compile(r" You made no prediction: [^<]*")


def page(lesson: NotebookNode, solution: NotebookNode) -> NotebookNode:
    """The notebook of a lesson's page: its own cells, with outputs that its solution has stored.

    What is shown is what a learner's copy of the course shows before an exercise is done: the
    recorded outputs of the cells that build on an answer, and those of the cells that run without
    one. Answers are stubs, and checks show nothing. Raises ValueError with a sentence where the
    lesson is not what the solution builds, or holds more than that.
    """
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
        cell.outputs = [kept for one in outputs if (kept := _printed(one))]
    made.cells.insert(1, nbformat.v4.new_markdown_cell(_ABOUT, id="about-this-page"))
    return made


def _printed(output: dict[str, Any]) -> NotebookNode | None:
    """An output as paper has it: without what only a kernel could answer; None for nothing."""
    made = nbformat.from_dict(copy.deepcopy(output))
    if made.output_type == "stream":
        return made if made.text.strip() else None
    known = made.data.keys() & {"image/png", "text/html", "text/plain"}
    made.data = {
        kind: _NO_PREDICTION.sub("", made.data[kind]).replace(' role="status"', "")
        for kind in known
    }
    return made if known else None


# --- all exercises --------------------------------------------------------------------------------

_HEAD = """\
# The exercises

Each line is an exercise, with its difficulty, the minutes that it takes and its points. In all,
{count} exercises, {points} points and {hours} hours.
"""
_COLUMNS = "| exercise | difficulty | minutes | points |\n| --- | --- | ---: | ---: |"


def exercises_page(lessons: Sequence[Path]) -> str:
    """A page in Markdown with every exercise, and where those of the book's chapter are answered.

    lessons: the notebooks, in order.
    """
    every, listed = [], []
    for path in lessons:
        title = read(path).cells[0].source.splitlines()[0].lstrip("# ")
        listed.append(f"## [{title}](lessons/{path.name})\n\n{_COLUMNS}")
        for one in of_lesson(path.name[:2]):
            every.append(one)
            heading = anchor(f"Exercise {one.number} — {one.title}")
            link = f"[{one.number} {one.title}](lessons/{path.name}#{heading})"
            stars = "★" * one.size.stars
            listed.append(f"| {link} | {stars} | {one.size.minutes} | {one.points} |")
        listed.append("")
    hours = round(sum(exercise.size.minutes for exercise in every) / 60)
    points = sum(exercise.points for exercise in every)
    head = _HEAD.format(count=len(every), points=points, hours=hours)
    (chapter,) = (cell.source for cell in read(lessons[-1]).cells if cell.id == "exercises")
    chapter = chapter.replace("](#", f"](lessons/{lessons[-1].name}#")
    return "\n".join([head, *listed, re.sub(r"\]\((\d\d_)", r"](lessons/\1", chapter)])
