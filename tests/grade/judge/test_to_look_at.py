"""What an instructor is asked to look at: cells that change the course, or start processes."""

from __future__ import annotations

import nbformat
import pytest

from helpers.course.setup.places import ROOT
from helpers.grade.judge.notebook import to_look_at

CHANGES, STARTS = "changes a module of the course", "starts processes"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import helpers\nhelpers.run = print", CHANGES),
        ("import helpers.checks.spec as s\ns.x += 1", CHANGES),
        ("from helpers.checks import spec\nspec.Exercise.claim = None", CHANGES),
        ("helpers.checks.known.TABLE['02.1'] = 1", CHANGES),
        ("setattr(helpers, 'run', print)", CHANGES),
        ("del helpers.run", CHANGES),
        ("import sys\nsys.modules['helpers'] = None", CHANGES),
        ("def f(comm):\n    type(comm).time = None", CHANGES),
        ("import os\nos.fork()", STARTS),
        ("from os import fork as f\nf()", STARTS),
        ("import subprocess as sp\nsp.Popen(['ls'])", STARTS),
        ("helpers.run(print, ranks=2)\nfork = {}\nfork['a'] = 1", ""),
        ("result = helpers.run(print)\nresult.note = 1", ""),
        ("def broken(:", ""),
    ],
)
def test_a_cell_is_named_with_what_it_does(source: str, said: str) -> None:
    told = to_look_at(["x = 1", source])
    assert told == (
        f"To look at: the cell that begins with `{source.splitlines()[0]}` {said}." if said else ""
    )


@pytest.mark.parametrize("path", sorted((ROOT / "solutions").glob("*.ipynb")), ids=lambda p: p.stem)
def test_no_solution_is_named(path: object) -> None:
    cells = nbformat.read(path, 4).cells
    assert to_look_at([cell.source for cell in cells if cell.cell_type == "code"]) == ""
