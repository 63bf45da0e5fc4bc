"""The page that maps the chapter's exercises to this course's: its links lead somewhere, and what
they lead to is passed by the solutions."""

from __future__ import annotations

import ast
import contextlib
import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest

from helpers.checks import find
from helpers.checks.judging import judge

SOLUTIONS = Path(__file__).parents[2] / "solutions"
CAPSTONE = "18_capstone.ipynb"


@cache
def cells(name: str) -> dict[str, Any]:
    return {cell.id: cell for cell in nbformat.read(SOLUTIONS / name, 4).cells}


def rows() -> dict[str, str]:
    """The rows of the table, by the number of the chapter's exercise."""
    lines = [re.match(r"\| (\d+) \|.*", line) for line in
             cells(CAPSTONE)["exercises"].source.splitlines()]  # fmt: skip
    return {found[1]: found[0] for found in lines if found}


def links() -> list[tuple[str, str, str]]:
    """The links: of each the exercise's number, the notebook and the heading."""
    found = re.findall(r"\[(\d\d\.\d+)\]\(([^#)]*)#([^)]+)\)", "\n".join(rows().values()))
    made = [(number, name or CAPSTONE, anchor) for number, name, anchor in found]
    return list(dict.fromkeys(made))


def test_all_ten_are_there_and_each_has_its_links_and_both_times() -> None:
    assert list(rows()) == [str(number) for number in range(1, 11)]
    for row in rows().values():
        assert re.search(r"\]\([^)]*#Exercise-", row), row
        assert all(len(cell.strip()) > 5 for cell in row.split("|")[2:-1]), row


def test_each_link_leads_to_an_exercise_that_the_solution_passes() -> None:
    for number, name, anchor in links():
        leads_to_what_passed(number, name, anchor)


def leads_to_what_passed(number: str, name: str, anchor: str) -> None:
    """Look at where a link leads."""
    headings = [
        line.lstrip("# ").replace(" ", "-")
        for cell in cells(name).values()
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("#")
    ]
    assert anchor in headings
    slug = number.replace(".", "-")
    check = cells(name)[f"check-{slug}"]
    assert f'helpers.check("{number}"' in check.source
    shown = "".join(str(o.get("data", {}).get("text/plain", "")) for o in check.outputs)
    assert f"✓ Exercise {number}" in shown and ": passed" in shown


@pytest.mark.thorough
@pytest.mark.parametrize("number", sorted({number for number, _, _ in links()}))
def test_its_check_passes_the_solutions_own_function(number: str) -> None:
    exercise = find(number)
    if exercise.framework != "torch":
        pytest.skip(f"{number} needs {exercise.framework}: the tests of its own lesson load that")
    (name,) = {name for each, name, _ in links() if each == number}
    scope: dict[str, Any] = {}
    for cell in cells(name).values():
        if cell.cell_type == "code":
            _define(cell.source, scope)
        if cell.id == f"exercise-{number.replace('.', '-')}":
            break
    for case in exercise.cases(5):
        verdict = judge(exercise, case, exercise.drive(scope[exercise.function], case))
        assert verdict.status == "passed", verdict.hint


def _define(source: str, scope: dict[str, Any]) -> None:
    """What a cell defines, without what it runs: imports, functions, classes, constants, and whose
    of two functions is taken. What needs a result of a run is left out."""
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    for one in ast.parse(source).body:
        if isinstance(one, kept) or (isinstance(one, ast.Assign) and _is_plain(one.value)):
            with contextlib.suppress(NameError):
                exec(ast.unparse(one), scope)


def _is_plain(value: ast.expr) -> bool:
    """A constant, or a choice between a learner's function and the course's."""
    return isinstance(value, ast.Constant) or ast.unparse(value).startswith("helpers.mine_or_yours")
