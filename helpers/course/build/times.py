"""How long a lesson takes: what its top says, and what a walk through the notebook comes to.

`python -m helpers.course.build.times` prints both for every lesson. The exercises' minutes are
those of their boxes, which count the box, its hints and the check. The rest is counted here: words
and lines that are read, and a moment for each prediction, picture and widget.
"""

from __future__ import annotations

import re

from nbformat import NotebookNode

from helpers.checks import of_lesson
from helpers.course.build.lesson import ANSWER_ID, CHECK_ID, number_of
from helpers.course.build.notebook import read
from helpers.course.build.run import ROOT, notebooks

WORDS, LINES = 200, 20  # of text and of code, read in a minute
PREDICTION, PICTURE, WIDGET = 0.5, 0.5, 3.0  # minutes
RUNNING = 2.0  # minutes in which one waits for cells
TRAINING = {"18": 8.0}  # and for trainings that a lesson is about

STATED = re.compile(r"\*Time:\* about (\d+) minutes; [^.]*? alone takes? (\d+)\.")
READ = re.compile(r"^(?!import |from )[ \t]*\S", re.MULTILINE)  # a line of code, but no import
SHOWN = {
    r"\b(?:predict|guess_of)\(": PREDICTION,
    r"\b(?:show\w*|table)\(": PICTURE,
    r"\bexplore\(": WIDGET,
}


def stated(notebook: NotebookNode) -> tuple[int, int]:
    """The minutes that the first cell states: of the lesson, and of its exercises alone.

    Raises ValueError with a sentence where it states none.
    """
    found = STATED.search(notebook.cells[0].source)
    if not found:
        raise ValueError(
            "The first cell does not say how long the lesson takes: "
            "write `- *Time:* about 90 minutes; the exercises alone take 60.`"
        )
    return int(found[1]), int(found[2])


def walk(notebook: NotebookNode, lesson: str) -> tuple[float, int]:
    """The minutes of a walk through a notebook, and of its exercises alone.

    lesson: its number, such as "02".
    """
    minutes = RUNNING + TRAINING.get(lesson, 0.0)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if not cell.id.startswith("box-"):
                minutes += len(cell.source.partition("### Sources")[0].split()) / WORDS
        elif not (number_of(cell, ANSWER_ID) or number_of(cell, CHECK_ID)):
            minutes += sum(n * len(re.findall(each, cell.source)) for each, n in SHOWN.items())
            minutes += len(READ.findall(cell.source)) / LINES
    exercises = sum(exercise.size.minutes for exercise in of_lesson(lesson))
    return minutes + exercises, exercises


def main() -> None:
    """Print a line for each lesson."""
    print("lesson  stated  counted  exercises")
    for path in notebooks(ROOT / "solutions"):
        notebook, lesson = read(path), path.name[:2]
        counted, exercises = walk(notebook, lesson)
        print(f"{lesson:6} {stated(notebook)[0]:7} {counted:8.0f} {exercises:10}")


if __name__ == "__main__":
    main()
