"""Building lessons from solutions: the same bytes again, and every kind of drift reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from small_solution import NAME, PICTURE, cell_of, edit, put, shows, solution

import helpers.course.build.run as builder
from helpers.checks import find
from helpers.course.build.notebook import normalise, ran, read, text
from helpers.course.build.run import build


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
    assert check.metadata.nbgrader.points == find("00.1").points
    assert [cell.id for cell in lesson.cells] == [cell.id for cell in solution().cells]


def test_building_again_gives_the_same_bytes(root: Path) -> None:
    before = [(root / f / NAME).read_bytes() for f in ("solutions", "lessons")]
    assert build(root=root) == 0
    assert before == [(root / f / NAME).read_bytes() for f in ("solutions", "lessons")]
    assert before[0].endswith(b"}\n") and not before[0].endswith(b"\n\n")


# --- drift --------------------------------------------------------------------------------------


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
    before = {p: p.read_bytes() for p in root.rglob("*.ipynb")}
    assert build(check=True, root=root) == 1
    assert "one of the two was edited alone" in capsys.readouterr().out
    assert before == {p: p.read_bytes() for p in root.rglob("*.ipynb")}


def test_what_somebody_did_in_a_lesson_is_kept(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = root / "lessons" / NAME
    built, mine = place.read_bytes(), []
    for answer in ("first", "second"):
        lesson = read(place)
        cell_of(lesson, "exercise-00-1").source = f"def roll_call(comm):\n    return {answer!r}"
        cell_of(lesson, "check-00-1").outputs = [new_output("stream", text="Passed\n")]
        place.write_text(text(lesson), encoding="utf-8")
        mine.append(place.read_bytes())
        assert build(check=True, root=root) == 1
        assert "has been worked in" in capsys.readouterr().out
        assert build(root=root) == 0
        assert place.read_bytes() == built
    kept = [place.with_name(f"{NAME}.yours"), place.with_name(f"{NAME}.yours2")]
    assert [path.read_bytes() for path in kept] == mine
    assert build(check=True, root=root) == 0


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


def test_a_build_of_unmarked_solutions_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = solution()
    del cell_of(notebook, "exercise-00-1").metadata["nbgrader"]
    put(tmp_path, notebook)
    assert build(root=tmp_path) == 1
    assert "nbgrader cannot make a lesson of it" in capsys.readouterr().out
    assert not (tmp_path / "lessons" / NAME).exists()


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


def as_if_run(notebook: NotebookNode, folder: Path) -> None:
    """In the place of `execute`: a cell that divides by 0 fails, others count and give nothing."""
    for count, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), 1):
        if cell.source == "1 / 0":
            raise CellExecutionError("", "ZeroDivisionError", "division by zero")
        cell.execution_count = count
    ran(notebook)


def test_a_run_is_stored_unless_a_cell_fails(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "execute", as_if_run)
    edit(root, "solutions", new_code)
    assert build(run=True, root=root) == 0 and build(check=True, root=root) == 0
    edit(root, "solutions", lambda nb: nb.cells.append(new_code_cell("1 / 0", id="zero")))
    before = (root / "solutions" / NAME).read_bytes()
    capsys.readouterr()
    assert build(run=True, root=root) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert before == (root / "solutions" / NAME).read_bytes()
