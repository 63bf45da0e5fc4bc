"""What a solution or a lesson may not hold: each defect is told in a sentence."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from small_solution import NAME, PICTURE, answer_source, cell_of, edit, put, shows, solution

from helpers.course.build.check import solution_problems
from helpers.course.build.notebook import ran
from helpers.course.build.run import build


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project whose one lesson is built and in order."""
    put(tmp_path, solution())
    assert build(root=tmp_path) == 0
    assert build(check=True, root=tmp_path) == 0
    return tmp_path


def spoil(name: str, notebook: NotebookNode) -> None:
    """One defect."""
    answer, check = cell_of(notebook, "exercise-00-1"), cell_of(notebook, "check-00-1")
    last = cell_of(notebook, "print")
    if name == "not run":
        last.execution_count, last.outputs = None, []
    elif name == "error":
        last.outputs = [new_output("error", ename="ValueError", evalue="", traceback=[])]
    elif name == "stderr":
        last.outputs = [new_output("stream", name="stderr", text="careful\n")]
    elif name == "picture":
        last.outputs = [shows({"image/png": PICTURE})]
    elif name == "img":
        last.outputs = [shows({"text/html": '<img src="x.png">'})]
    elif name == "markdown picture":
        notebook.cells[0].source += "\n\n![](ring.png)"
    elif name == "size":
        last.outputs = [new_output("stream", text="x" * 700_000)]
    elif name == "points":
        check.metadata.nbgrader.points = 7
    elif name == "number":
        answer.metadata.nbgrader.grade_id = "exercise-00-9"
    elif name == "missing exercise":
        notebook.cells.remove(answer)
    elif name == "twice":
        notebook.cells.append(copy.deepcopy(check))
        notebook.cells[-1].id = "check-again"
    elif name == "no region":
        answer.source = "def roll_call(comm):\n    return 1"
    elif name == "another name":
        answer.source = answer.source.replace("def roll_call", "def roll_cal")
    elif name == "no hidden test":
        check.source = check.source.splitlines()[-1]
    elif name == "check not last":
        check.source += "\nprint(1)"
    elif name == "box":
        cell_of(notebook, "box-00-1").source = "### Exercise 00.1"
    elif name == "marks":
        check.metadata.nbgrader.locked = False


DEFECTS = {
    "not run": "its outputs are missing",
    "error": "ended with ValueError",
    "stderr": "wrote to stderr",
    "picture": "shows a picture without alt text",
    "img": "has an <img> without alt text",
    "markdown picture": "has a picture without alt text",
    "size": "takes 7",
    "points": "gives 7 points, its spec 1",
    "number": "exercise 00.9 is in no spec",
    "missing exercise": "has 0 answer cells and 1 check cells",
    "twice": "has 1 answer cells and 2 check cells",
    "no region": "has no BEGIN SOLUTION",
    "another name": "does not define roll_call",
    "no hidden test": "has no hidden test",
    "check not last": 'must end with helpers.check("00.1", roll_call)',
    "box": "has no box that says",
    "marks": "must have grade and locked true",
}


def test_a_good_solution_has_no_problem() -> None:
    notebook = solution()
    picture = shows({"image/png": PICTURE}, {"image/png": {"alt": "A ring of four ranks."}})
    cell_of(notebook, "print").outputs = [picture]
    assert list(solution_problems(notebook, "00")) == []


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_told_in_a_sentence(name: str) -> None:
    notebook = solution()
    spoil(name, notebook)
    ran(notebook)
    assert any(DEFECTS[name] in problem for problem in solution_problems(notebook, "00"))


def test_cells_need_ids_of_their_own(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / "solutions" / NAME
    raw = json.loads(path.read_text(encoding="utf-8"))
    raw["cells"][-1]["id"] = "title"
    path.write_text(json.dumps(raw), encoding="utf-8")
    assert build(root=root) == 1
    assert "two cells have the id title" in capsys.readouterr().out
    del raw["cells"][-1]["id"]
    path.write_text(json.dumps(raw), encoding="utf-8")
    assert build(check=True, root=root) == 1
    assert "1 cells have no id" in capsys.readouterr().out


@pytest.mark.parametrize("leak", ["### BEGIN SOLUTION", "### END HIDDEN TESTS", "whole answer"])
def test_a_leak_in_a_lesson_fails(
    root: Path, leak: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if leak == "whole answer":
        leak = "\n".join(answer_source().splitlines()[3:-1])
    edit(root, "lessons", lambda nb: nb.cells.append(new_code_cell(leak, id="leak")))
    assert build(check=True, root=root) == 1
    said = capsys.readouterr().out
    assert "leaks" in said or "holds the whole solution" in said


def test_a_solution_pasted_elsewhere_is_not_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = solution()
    pasted = "def mine(comm):\n" + "\n".join(answer_source().splitlines()[3:-1])
    notebook.cells.append(new_code_cell(pasted, id="pasted"))
    put(tmp_path, notebook)
    assert build(root=tmp_path) == 1
    assert "cell pasted holds the whole solution" in capsys.readouterr().out
