"""A learner's walk through one lesson, from its release, in the browser.

Run All with nothing done; predictions entered; one exercise wrong, and its hint; every exercise
done; every widget moved. What is on the page is kept as pictures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import releases
import walk_keyboard
import walk_pictures
from submissions import as_cell
from walk_keyboard import Moved
from walk_lab import Lesson, opened, said

from helpers.checks import find, of_lesson
from helpers.checks.check import judged
from helpers.checks.judging import judge_all
from helpers.checks.spec import Exercise, WrongAnswer
from helpers.course.build.lesson import CHECK_ID, number_of
from helpers.course.build.notebook import code_cells
from tests.hints import is_its_own

ELSEWHERE = "This is what the cell showed on another machine"
STANDS_IN = "stands in for yours"
LIMIT = 900.0  # seconds for Run All


@dataclass
class Walked:
    """What a walk has seen. passed: of so many exercises. wrong: the answer that was tried."""

    lesson: str
    cells: int = 0
    predictions: int = 0
    wrong: str = ""
    hint: str = ""
    passed: list[str] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def row(self) -> str:
        """A row of a table: what was walked through, and the slowest picture."""
        slowest = max(self.moved, key=lambda one: one.milliseconds, default=None)
        knob = f"{slowest.control.label} {slowest.milliseconds:.0f} ms" if slowest else "none"
        parts = (
            f"{self.lesson}: {self.cells} cells, {self.predictions} predictions",
            f"{self.wrong}: {self.hint!r}",
            f"{len(self.passed)} passed",
            f"{len(self.moved)} controls moved, slowest {knob}",
            f"{len(self.trouble)} errors in the console",
        )
        return " | ".join(parts)


def walk(number: str, folder: Path, pictures: Path | None) -> Walked:
    """Walk through a lesson; what must hold is asserted on the way.

    folder: for the release. pictures: where pictures go, and then the notebook is shown in the dark
    theme and in a narrow window, too; None for neither.
    """
    walked = Walked(number)
    unpacked = releases.unpack(number, folder)
    with opened(unpacked, folder / "home") as lesson:
        untouched(lesson, walked, pictures)
        walked.predictions = walk_keyboard.compare(lesson, LIMIT)
        one_wrong(lesson, walked, pictures)
        solved(lesson, walked, pictures)
        widgets(lesson, walked, pictures)
        walked.faults = walk_pictures.faults(lesson)
        if pictures:
            walk_pictures.dark(lesson, pictures / "dark")
            walked.faults += walk_pictures.narrow(lesson, pictures / "narrow")
        walked.trouble = lesson.trouble
    return walked


def untouched(lesson: Lesson, walked: Walked, pictures: Path | None) -> None:
    """Run All goes to the end of what nobody has touched, and lists what is open."""
    cells = lesson.run_all(LIMIT)
    walked.cells = len(cells)
    for identity, number in checks(walked.lesson).items():
        told = said(lesson.cell(identity))
        assert f"Exercise {number} is not done yet" in told, (number, told)
    if pictures:
        walk_pictures.pieces(lesson, pictures / "untouched")


def one_wrong(lesson: Lesson, walked: Walked, pictures: Path | None) -> None:
    """A wrong answer in an exercise's cell: its check gives the hint for that mistake."""
    exercise, wrong, hint = wrong_one(walked.lesson)
    cells = answers(walked.lesson)
    check = next(i for i, number in checks(walked.lesson).items() if number == exercise.number)
    answer = next(i for i, (number, _) in cells.items() if number == exercise.number)
    lesson.write(answer, as_cell(exercise, wrong.function))
    lesson.run(answer)
    told = lesson.run(check)
    assert f"Exercise {exercise.number} ({exercise.title}): not right yet" in told, told
    assert hint in told, (hint, told)
    walked.wrong, walked.hint = f"{exercise.number} {wrong.name}", hint
    if pictures:
        walk_pictures.cell(lesson, check, pictures / "wrong.png")


def wrong_one(number: str) -> tuple[Exercise, WrongAnswer, str]:
    """A wrong answer to an exercise that needs no other one, and the hint that is its own."""
    for exercise in of_lesson(number):
        for wrong in [] if exercise.builds_on else exercise.wrong:
            result = judged(exercise, wrong.function, seeds=(0,))
            verdict = judge_all(exercise, result.cases, result.seen)
            if verdict.status == "wrong" and is_its_own(wrong, verdict.mistake, verdict.hint):
                return exercise, wrong, verdict.hint
    raise AssertionError(f"no wrong answer of lesson {number} has its own hint")


def solved(lesson: Lesson, walked: Walked, pictures: Path | None) -> None:
    """With every answer there, Run All has every check green and shows nothing from elsewhere."""
    for identity, (_, source) in answers(walked.lesson).items():
        lesson.write(identity, source)
    cells = lesson.run_all(LIMIT)
    for cell in cells:
        told = said(cell)
        assert ELSEWHERE not in told and STANDS_IN not in told, (cell["id"], told)
    for identity, number in checks(walked.lesson).items():
        told = said(lesson.cell(identity))
        assert f"Exercise {number} ({find(number).title}): passed" in told, (number, told)
        walked.passed.append(number)
    if pictures:
        walk_pictures.pieces(lesson, pictures / "solved")


def widgets(lesson: Lesson, walked: Walked, pictures: Path | None) -> None:
    """Every control is moved by the keyboard, and what it draws follows."""
    lesson.page.evaluate(walk_keyboard.WATCH)
    for cell in lesson.cells():
        if "Your prediction:" not in said(cell):
            moved = walk_keyboard.move_all(lesson, cell)
            walked.moved += moved
            if moved and pictures:
                walk_pictures.cell(lesson, cell["id"], pictures / f"moved-{cell['id']}.png")


def checks(lesson: str) -> dict[str, str]:
    """The exercise of each check's cell, by the cell's id."""
    return _by_id(lesson, CHECK_ID)


def answers(lesson: str) -> dict[str, tuple[str, str]]:
    """The exercise of each answer's cell and the solution's answer, by the cell's id."""
    cells = {cell.id: cell.source for cell in code_cells(releases.solution_of(lesson))}
    found: dict[str, Any] = _by_id(lesson)
    return {identity: (number, cells[identity]) for identity, number in found.items()}


def _by_id(lesson: str, *kind: Any) -> dict[str, str]:
    cells = code_cells(releases.solution_of(lesson))
    return {cell.id: number for cell in cells if (number := number_of(cell, *kind))}
