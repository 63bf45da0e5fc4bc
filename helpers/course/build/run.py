"""Build `lessons/` from `solutions/`, or check that both agree and that nothing leaks."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from nbformat import NotebookNode

from helpers.course.build.check import lesson_problems, solution_problems
from helpers.course.build.lesson import lesson_of
from helpers.course.build.notebook import code_cells, execute, normalise, read, say, text
from helpers.notebook.record import free

ROOT = Path(__file__).parents[3]

LOGBOOK = "_logbook.jsonl"  # how the files end in which lessons keep their runs


def build(
    check: bool = False, run: bool = False, only: Sequence[str] = (), root: Path = ROOT
) -> int:
    """Make every lesson from its solution; 0 where all is well, otherwise 1.

    check: write nothing, report what differs and what is wrong. run: execute the solutions first
    and store their outputs. only: lessons by number, such as `["02"]`. Building twice gives the
    same bytes.
    """
    solutions = [p for p in notebooks(root / "solutions") if not only or p.name[:2] in only]
    problems: list[str] = []
    for path in solutions:
        try:
            found = _check_one(path, root) if check else _build_one(path, root, run)
        except ValueError as error:
            found = [str(error)]
        problems += [f"solutions/{path.name}: {problem}." for problem in found]
    if not only:
        problems += _strays(solutions, root)
    for problem in problems:
        say(problem)
    if problems:
        say(f"{len(problems)} problem{'s' if len(problems) > 1 else ''}.")
    elif not solutions:
        say("There are no notebooks in solutions/.")
    else:
        word = "agree with" if check else "are built from"
        say(f"{len(solutions)} lessons {word} their solutions.")
    return 1 if problems else 0


def notebooks(folder: Path) -> list[Path]:
    """The notebooks of a folder that have a lesson's name, in order."""
    return sorted(p for p in folder.glob("*.ipynb") if re.match(r"\d\d_\w+\.ipynb$", p.name))


def _build_one(path: Path, root: Path, run: bool) -> list[str]:
    solution = read(path)
    if run:
        problem = _run(solution, path)
        if problem:
            return [problem]
    normalise(solution)
    lesson = lesson_of(solution)
    leaks = list(lesson_problems(lesson, solution))
    if leaks:
        return leaks
    path.write_text(text(solution), encoding="utf-8")
    target = root / "lessons" / path.name
    target.parent.mkdir(exist_ok=True)
    if worked_in(target):
        kept = free(target.with_name(f"{target.name}.yours"))
        os.replace(target, kept)
        say(f"lessons/{path.name} had been worked in; it is kept as lessons/{kept.name}")
    target.write_text(text(lesson), encoding="utf-8")
    return list(solution_problems(solution, path.name[:2])) if run else []


def worked_in(lesson: Path) -> bool:
    """Whether somebody ran cells of a lesson; as it is built it has no outputs."""
    try:
        return any(cell.execution_count or cell.outputs for cell in code_cells(read(lesson)))
    except (OSError, ValueError):
        return False


def _run(solution: NotebookNode, path: Path) -> str:
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    say(f"Running solutions/{path.name}")
    for old in path.parent.glob(f"*{LOGBOOK}"):
        old.unlink()  # a lesson that goes on from one would not run what it holds
    try:
        execute(solution, path.parent)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return f"a cell failed, so nothing was stored:\n{error}"
    return ""


def _check_one(path: Path, root: Path) -> list[str]:
    solution = read(path)
    found = []
    if text(normalise(read(path))) != path.read_text(encoding="utf-8"):
        found.append("it is not in its normal form: run `./course build`")
    found += solution_problems(solution, path.name[:2])
    built = lesson_of(normalise(solution))
    target = root / "lessons" / path.name
    if not target.exists():
        return [*found, f"lessons/{path.name} is missing: run `./course build`"]
    if worked_in(target):
        found.append(
            f"lessons/{path.name} has been worked in. Test a copy of the course in which nobody "
            "learns; `./course build` makes the lesson anew and keeps this one beside it"
        )
    elif target.read_text(encoding="utf-8") != text(built):
        found.append(
            f"lessons/{path.name} is not what it builds: one of the two was edited alone. "
            "Edit the solution and run `./course build`"
        )
    try:
        found += lesson_problems(read(target), solution)
    except ValueError as error:
        found.append(str(error))
    return found


def _strays(solutions: Sequence[Path], root: Path) -> list[str]:
    """Lessons whose solution is gone. They are reported, never removed: they may be somebody's."""
    names = {path.name for path in solutions}
    strays = [p for p in (root / "lessons").glob("*.ipynb") if p.name not in names]
    return [f"lessons/{p.name}: there is no solution of that name." for p in sorted(strays)]
