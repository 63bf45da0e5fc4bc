"""A release, unpacked: checks say there what they say here, and the lesson runs to its end."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from helpers.exercises import find, lessons, of_lesson
from helpers.exercises.spec import Exercise, WrongAnswer
from helpers.instructor.build_lesson import number_of
from helpers.instructor.build_notebook import code_cells, read
from helpers.instructor.release import release
from tests.test_exercises import as_far_as_right
from tests.test_untouched import AS_RELEASED

ROOT = Path(__file__).parents[1]
# Of the cells of every lesson the imports are tried, in `test_checks_say_what_they_say_here`. Run
# to the end, which takes as long as a lesson does, is one of each kind: with answers (ranks,
# splits) and untouched (the engines, and the long ones: the virtual clock, TensorFlow, pipelines).
ANSWERED = ["02", "14"]


@pytest.fixture(scope="module", params=lessons())
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lesson's release in a folder named by its number."""
    folder = tmp_path_factory.mktemp("release")
    release(request.param, folder / "lesson.zip")
    with zipfile.ZipFile(folder / "lesson.zip") as archive:
        archive.extractall(folder / request.param)
    return folder / str(request.param)


def environment(unpacked: Path) -> dict[str, str]:
    """Of all copies of the course, this one is imported."""
    return {
        **os.environ,
        "PYTHONPATH": str(unpacked),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def answers(lesson: str) -> dict[str, str]:
    """The solution's cell of each exercise, after the imports and the answers before it.

    Later answers may use earlier ones by the names that demonstrations give them.
    """
    notebook = read(next((ROOT / "solutions").glob(f"{lesson}_*.ipynb")))
    so_far, found = next(code_cells(notebook)).source, {}
    for cell in code_cells(notebook):
        if number := number_of(cell):
            so_far = found[number] = f"{so_far}\n{cell.source}"
        for name, mine in re.findall(r"(\w+) = helpers\.mine_or_yours\(.*?, (\w+)\)", cell.source):
            so_far += f"\n{name} = {mine}"
    return found


def asked(exercise: Exercise) -> tuple[WrongAnswer, ...]:
    """The wrong answers to observe: some of each exercise.

    What is new in a release is that hints are there without the answers; test_exercises asks all.
    """
    return exercise.wrong[::3] if exercise.framework == "torch" else exercise.wrong[:3]


@pytest.mark.timeout(600)
def test_checks_say_what_they_say_here(unpacked: Path) -> None:
    exercises = of_lesson(unpacked.name)
    seen, wanted = {}, {}
    for exercise in exercises:
        cases = exercise.cases(0)
        seen[exercise.number] = {
            one.name: as_far_as_right(exercise, cases, one.function) for one in asked(exercise)
        }
        wanted[exercise.number] = {
            name: [verdict.status, verdict.hint]
            for name, one in seen[exercise.number].items()
            for verdict in [exercise.judge_all(cases, one)]
        }
    told = inside(unpacked, {"seen": seen, "sources": answers(unpacked.name)})
    assert Path(told["where"]).is_relative_to(unpacked)
    assert told["verdicts"] == wanted
    for exercise in exercises:
        for wrong in asked(exercise):
            status, hint = told["verdicts"][exercise.number][wrong.name]
            assert status == "wrong" and wrong.hint in hint
    assert told["checks"] == {exercise.number: "passed" for exercise in exercises}
    # No function that is there is an answer under another name.
    assert told["passing"] == []
    # Cells that wait for an answer find all that they import, too.
    assert told["missing"] == []


def inside(unpacked: Path, given: dict[str, Any]) -> dict[str, Any]:
    """What `in_a_release.py` tells when it runs in an unpacked release."""
    path = unpacked.parent / "given.pickle"
    path.write_bytes(pickle.dumps(given))
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "in_a_release.py"), str(path)],
        cwd=unpacked, env=environment(unpacked), capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def run(notebook: NotebookNode, unpacked: Path) -> str:
    """Run a lesson's notebook in its release; returns all that it said."""
    client = NotebookClient(
        notebook,
        timeout=180,
        kernel_name="python3",
        resources={"metadata": {"path": str(unpacked / "lessons")}},
    )
    client.execute(env=environment(unpacked))
    for cell in code_cells(notebook):
        for output in cell.outputs:
            assert output.output_type != "error", (cell.id, output)
            assert output.get("name") != "stderr", (cell.id, output)
    return json.dumps([cell.outputs for cell in code_cells(notebook)], ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("unpacked", ["00", *AS_RELEASED], indirect=True)
def test_the_untouched_lesson_runs_to_the_end(unpacked: Path) -> None:
    said = run(read(next((unpacked / "lessons").glob("*.ipynb"))), unpacked)
    for exercise in of_lesson(unpacked.name):
        assert f"Exercise {exercise.number} is not done yet." in said
        assert f"{exercise.number}" in said
    assert "This is what the cell showed on another machine" in said
    assert "stands in for yours" not in said


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("unpacked", ANSWERED, indirect=True)
def test_the_lesson_with_answers_runs_them(unpacked: Path) -> None:
    notebook = read(next((unpacked / "lessons").glob("*.ipynb")))
    cells = {
        number_of(c): c for c in code_cells(read(ROOT / "solutions" / notebook_name(unpacked)))
    }
    for cell in code_cells(notebook):
        if number_of(cell):
            cell.source = cells[number_of(cell)].source
    said = run(notebook, unpacked)
    for exercise in of_lesson(unpacked.name):
        assert f"This runs your `{find(exercise.number).function}`" in said
    assert "is open. This is what" not in said


def notebook_name(unpacked: Path) -> str:
    return next((unpacked / "lessons").glob("*.ipynb")).name
