"""Building lessons from solutions: the same bytes again, and every kind of drift reported."""

from __future__ import annotations

import copy
import inspect
import json
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers.exercises import find
from helpers.instructor.build import build
from helpers.instructor.build_check import solution_problems
from helpers.instructor.build_notebook import code_hash, execute, normalise, read, text

NAME = "00_start_here.ipynb"
PICTURE = "iVBORw0KGgo="
ANSWER = {"grade": False, "locked": False, "solution": True}
CHECK = {"grade": True, "locked": True, "solution": False, "points": 1}


def marked(cell: NotebookNode, grade_id: str, marks: Mapping[str, object]) -> NotebookNode:
    """A cell with nbgrader's metadata."""
    cell.metadata["nbgrader"] = {"schema_version": 3, "task": False, "grade_id": grade_id, **marks}
    return cell


def answer_source() -> str:
    """The reference of 00.1 as a solution's cell."""
    lines = inspect.getsource(find("00.1").reference).splitlines()
    body = "\n".join(line for line in lines[2:] if '"""' not in line)
    return (
        'def roll_call(comm):\n    """What every rank says."""\n    ### BEGIN SOLUTION\n'
        f"{textwrap.indent(textwrap.dedent(body), '    ')}\n    ### END SOLUTION"
    )


def solution() -> NotebookNode:
    """A small solution of lesson 00, as if it had been run."""
    exercise = find("00.1")
    box = (
        f"### Exercise 00.1 — {exercise.title}\n\n★ · {exercise.minutes} minutes · 1 point\n\n"
        "Say your number."
    )
    check = (
        "### BEGIN HIDDEN TESTS\nfrom helpers.exercises.check import require\n"
        'require("00.1", roll_call)\n### END HIDDEN TESTS\nhelpers.check("00.1", roll_call)'
    )
    cells = [
        new_markdown_cell("# Start here", id="title"),
        new_code_cell("import helpers", id="imports"),
        new_markdown_cell(box, id="box-00-1"),
        marked(new_code_cell(answer_source(), id="exercise-00-1"), "exercise-00-1", ANSWER),
        marked(new_code_cell(check, id="check-00-1"), "check-00-1", CHECK),
        new_code_cell("print(1)", id="print", outputs=[new_output("stream", text="1\n")]),
    ]
    notebook = new_notebook(cells=cells)
    for count, cell in enumerate((c for c in cells if c.cell_type == "code"), 1):
        cell.execution_count = count
    notebook.metadata["course"] = NotebookNode(executed=code_hash(notebook))
    return notebook


def put(root: Path, notebook: NotebookNode, folder: str = "solutions") -> Path:
    """Write a notebook in its normal form."""
    path = root / folder / NAME
    path.parent.mkdir(exist_ok=True)
    path.write_text(text(normalise(notebook)), encoding="utf-8")
    return path


def cell_of(notebook: NotebookNode, name: str) -> NotebookNode:
    """The cell with an id."""
    return next(cell for cell in notebook.cells if cell.id == name)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project whose one lesson is built and in order."""
    put(tmp_path, solution())
    assert build(root=tmp_path) == 0
    assert build(check=True, root=tmp_path) == 0
    return tmp_path


def test_a_lesson_holds_stubs_and_no_hidden_tests(root: Path) -> None:
    lesson = read(root / "lessons" / NAME)
    answer, check = cell_of(lesson, "exercise-00-1"), cell_of(lesson, "check-00-1")
    assert answer.source == (
        'def roll_call(comm):\n    """What every rank says."""\n'
        '    raise NotImplementedError("Exercise 00.1 is not done yet")'
    )
    assert check.source == 'helpers.check("00.1", roll_call)'
    whole = json.dumps(lesson)
    assert "SOLUTION" not in whole and "HIDDEN" not in whole and "require(" not in whole
    code = [cell for cell in lesson.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    # nbgrader's locks: a check cannot be edited, an answer can, neither can be deleted.
    assert (check.metadata.editable, check.metadata.deletable) == (False, False)
    assert "editable" not in answer.metadata and answer.metadata.deletable is False
    assert [cell.id for cell in lesson.cells] == [cell.id for cell in solution().cells]


def test_building_again_gives_the_same_bytes(root: Path) -> None:
    before = [(root / f / NAME).read_bytes() for f in ("solutions", "lessons")]
    assert build(root=root) == 0
    assert before == [(root / f / NAME).read_bytes() for f in ("solutions", "lessons")]
    assert before[0].endswith(b"}\n") and not before[0].endswith(b"\n\n")


def test_nbgrader_reads_the_lesson_and_the_solution(root: Path) -> None:
    from nbgrader.nbgraderformat import read as nbgrader_read
    from nbgrader.preprocessors import CheckCellMetadata

    for folder in ("lessons", "solutions"):
        notebook = nbgrader_read(str(root / folder / NAME), as_version=4)
        CheckCellMetadata().preprocess(notebook, {})
    marks = cell_of(read(root / "lessons" / NAME), "check-00-1").metadata.nbgrader
    assert marks.points == find("00.1").points
    assert len(marks.checksum) == 32 and marks.cell_type == "code"


def test_nbgraders_own_assignment_is_the_lesson(root: Path) -> None:
    # What nbgrader's preprocessors make in their own order differs from ours in the stub alone.
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions, LockCells

    notebook = read(root / "solutions" / NAME)
    for step in (LockCells(), ClearSolutions(), ClearHiddenTests()):
        notebook, _ = step.preprocess(notebook, {"nbgrader": {}})
    lesson = read(root / "lessons" / NAME)
    theirs = [c.source.replace("# YOUR CODE HERE\n    ", "").strip() for c in notebook.cells]
    ours = [c.source.replace('"Exercise 00.1 is not done yet"', "") for c in lesson.cells]
    assert theirs == ours


# --- drift --------------------------------------------------------------------------------------


def edit(root: Path, folder: str, change: Callable[[NotebookNode], None]) -> None:
    """Change one of the two files and leave the other alone."""
    path = root / folder / NAME
    notebook = read(path)
    change(notebook)
    path.write_text(text(notebook), encoding="utf-8")


def new_words(notebook: NotebookNode) -> None:
    notebook.cells[0].source = "# Start elsewhere"


def new_code(notebook: NotebookNode) -> None:
    cell_of(notebook, "print").source = "print(2)"


def new_solution(notebook: NotebookNode) -> None:
    cell = cell_of(notebook, "exercise-00-1")
    cell.source = cell.source.replace("return None", "return")


def new_cell(notebook: NotebookNode) -> None:
    notebook.cells.append(new_markdown_cell("One more", id="more"))


@pytest.mark.parametrize("change", [new_words, new_code, new_cell])
@pytest.mark.parametrize("folder", ["lessons", "solutions"])
def test_one_edited_alone_fails(
    root: Path, folder: str, change: Callable[[NotebookNode], None],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    edit(root, folder, change)
    assert build(check=True, root=root) == 1
    assert "one of the two was edited alone" in capsys.readouterr().out


def test_an_edited_solution_region_fails(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(root, "solutions", new_solution)
    assert build(check=True, root=root) == 1
    assert "edited after its outputs were stored" in capsys.readouterr().out


def test_a_missing_a_spare_and_a_broken_file_fail(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "lessons" / "05_spare.ipynb").write_text("{}", encoding="utf-8")
    assert build(check=True, root=root) == 1
    assert "05_spare.ipynb: there is no solution of that name" in capsys.readouterr().out
    (root / "lessons" / "05_spare.ipynb").unlink()
    (root / "lessons" / NAME).unlink()
    assert build(check=True, root=root) == 1
    assert "is missing" in capsys.readouterr().out
    (root / "solutions" / NAME).write_text("no notebook", encoding="utf-8")
    assert build(check=True, root=root) == 1
    assert "is not a valid notebook" in capsys.readouterr().out


def test_check_writes_nothing(root: Path) -> None:
    edit(root, "solutions", new_words)
    before = {p: p.read_bytes() for p in root.rglob("*.ipynb")}
    build(check=True, root=root)
    assert before == {p: p.read_bytes() for p in root.rglob("*.ipynb")}


def test_a_build_of_unmarked_solutions_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = solution()
    del cell_of(notebook, "exercise-00-1").metadata["nbgrader"]
    put(tmp_path, notebook)
    assert build(root=tmp_path) == 1
    assert "nbgrader cannot make a lesson of it" in capsys.readouterr().out
    assert not (tmp_path / "lessons" / NAME).exists()


# --- what a solution may not hold ---------------------------------------------------------------


def shows(data: dict[str, str], metadata: dict[str, object] | None = None) -> NotebookNode:
    return new_output("display_data", data=data, metadata=metadata or {})


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
    assert list(solution_problems(solution(), "00")) == []


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_told_in_a_sentence(name: str) -> None:
    notebook = solution()
    spoil(name, notebook)
    notebook.metadata["course"] = NotebookNode(executed=code_hash(notebook))
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


def test_a_picture_with_alt_text_is_right() -> None:
    notebook = solution()
    cell_of(notebook, "print").outputs = [
        shows({"image/png": PICTURE}, {"image/png": {"alt": "A ring of four ranks."}})
    ]
    assert list(solution_problems(notebook, "00")) == []


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


# --- the normal form, and running ---------------------------------------------------------------


def test_the_normal_form_drops_what_changes_from_run_to_run() -> None:
    notebook = solution()
    notebook.metadata["widgets"] = {"state": {}}
    notebook.metadata["language_info"] = {"name": "python", "version": "3.11.2"}
    last = cell_of(notebook, "print")
    last.metadata["execution"] = {"iopub.status.busy": "2020-01-01"}
    last.metadata["collapsed"] = True
    last.metadata["tags"] = ["nbval-ignore-output"]
    view = {"application/vnd.jupyter.widget-view+json": "x", "text/plain": "VBox()"}
    last.outputs = [
        new_output("stream", text="a"), new_output("stream", text="b"), shows(view),
        shows({"image/png": PICTURE}, {"image/png": {"alt": "A", "width": 3}, "transient": 1}),
    ]  # fmt: skip
    normalise(notebook)
    assert dict(notebook.metadata.language_info) == {"name": "python"}
    assert "widgets" not in notebook.metadata
    assert dict(last.metadata) == {"tags": ["nbval-ignore-output"]}
    assert [o.output_type for o in last.outputs] == ["stream", "display_data"]
    assert last.outputs[0].text == "ab"
    assert last.outputs[1].metadata == {"image/png": {"alt": "A"}}
    once = text(notebook)
    assert text(normalise(nbformat.reads(once, as_version=4))) == once


@pytest.mark.slow
def test_running_stores_outputs_and_says_what_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = solution()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata.pop("course")
    put(tmp_path, notebook)
    assert build(run=True, root=tmp_path) == 0
    stored = read(tmp_path / "solutions" / NAME)
    assert "Passed on 1, 2, 3, 4 and 5 ranks" in json.dumps(cell_of(stored, "check-00-1").outputs)
    assert build(check=True, root=tmp_path) == 0

    lesson = read(tmp_path / "lessons" / NAME)
    execute(lesson, tmp_path / "lessons")
    said = json.dumps(cell_of(lesson, "check-00-1").outputs)
    assert "Exercise 00.1 is not done yet." in said and '"error"' not in json.dumps(lesson)

    edit(tmp_path, "solutions", lambda nb: nb.cells.append(new_code_cell("1 / 0", id="zero")))
    before = (tmp_path / "solutions" / NAME).read_bytes()
    capsys.readouterr()
    assert build(run=True, root=tmp_path) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert before == (tmp_path / "solutions" / NAME).read_bytes()
