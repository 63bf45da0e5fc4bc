"""The notebooks themselves: stored outputs compared by nbval, untouched lessons run to the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from helpers.exercises import of_lesson
from helpers.instructor.build import build, notebooks
from helpers.instructor.build_notebook import code_cells, execute, normalise, read, text

ROOT = Path(__file__).parents[1]
SOLUTIONS = notebooks(ROOT / "solutions")
LESSONS = notebooks(ROOT / "lessons")
SECONDS = 400  # ends one that hangs; other tests run beside it

NONE_YET = pytest.param(None, marks=pytest.mark.skip("There are no notebooks yet."))


def name(path: Path | None) -> str:
    return path.stem if path else "none"


def test_lessons_and_solutions_agree(capsys: pytest.CaptureFixture[str]) -> None:
    code = build(check=True)
    assert code == 0, capsys.readouterr().out


def test_every_solution_has_its_lesson() -> None:
    assert [p.name for p in SOLUTIONS] == [p.name for p in LESSONS]


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize("path", SOLUTIONS or [NONE_YET], ids=name)
def test_a_solution_gives_its_stored_outputs(path: Path) -> None:
    done = nbval(path)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def nbval(path: Path) -> subprocess.CompletedProcess[str]:
    """Run a notebook against its stored outputs, in a process of its own.

    Without a cell's time-out a dead kernel would wait for 2000 s; the project's own pytest options
    are not for cells.
    """
    command = [
        sys.executable, "-m", "pytest", "--nbval", "--nbval-cell-timeout=120", "-q", "--tb=short",
        "-p", "no:cacheprovider", "-o", "addopts=", "--color=no", str(path),
    ]  # fmt: skip
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.slow
def test_nbval_sees_an_output_that_has_changed(tmp_path: Path) -> None:
    # A comparison that cannot fail would be no comparison.
    notebook = new_notebook(cells=[new_code_cell("print(1 + 1)", id="sum")])
    execute(notebook, tmp_path)
    path = tmp_path / "00_sum.ipynb"
    path.write_text(text(normalise(notebook)), encoding="utf-8")
    assert nbval(path).returncode == 0
    path.write_text(path.read_text(encoding="utf-8").replace('"2\\n"', '"3\\n"'), encoding="utf-8")
    done = nbval(path)
    assert done.returncode == 1 and "Cell outputs differ" in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize("path", LESSONS or [NONE_YET], ids=name)
def test_an_untouched_lesson_runs_to_the_end(path: Path) -> None:
    lesson = read(path)
    execute(lesson, path.parent, timeout=SECONDS)
    for cell in code_cells(lesson):
        assert cell.execution_count is not None, cell.id
        for output in cell.outputs:
            assert output.output_type != "error", (cell.id, output)
            assert output.get("name") != "stderr", (cell.id, output)
    # It says of every exercise that it is open.
    said = json.dumps([cell.outputs for cell in code_cells(lesson)], ensure_ascii=False)
    for exercise in of_lesson(path.name[:2]):
        assert f"Exercise {exercise.number} is not done yet." in said
