"""A release, unpacked: checks say there what they say here, and the lesson runs to its end.

With all answers it runs in test_notebooks, which compares what it gives with the stored outputs.
"""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import releases
from leaks import leaks
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from helpers.checks import find, lessons, of_lesson
from helpers.checks.judging import judge_all
from helpers.checks.spec import Exercise, WrongAnswer
from helpers.course.build.lesson import CHECK_ID, number_of
from helpers.course.build.notebook import code_cells, read
from helpers.grade.release.pack import in_room
from helpers.notebook.recorded import RECORDED, digest
from tests.checks.test_exercises import as_far_as_right
from tests.hints import is_its_own
from tests.selection import in_sample

pytestmark = pytest.mark.real

ROOT = releases.ROOT
ELSEWHERE = "This is what the cell showed on another machine"


@pytest.fixture(scope="module", params=lessons())
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lesson's release in a folder named by its number."""
    hints = request.config.getoption("--all")  # else nobody looks at them
    return releases.unpack(request.param, tmp_path_factory.mktemp("release"), hints)


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


@pytest.mark.thorough
@pytest.mark.timeout(1800)
def test_checks_say_what_they_say_here(unpacked: Path) -> None:
    assert leaks((unpacked.parent / "lesson.zip").read_bytes(), unpacked.name) == []
    exercises = of_lesson(unpacked.name)
    seen, wanted = {}, {}
    for exercise in exercises:
        cases = exercise.cases(0)
        seen[exercise.number] = {
            one.name: as_far_as_right(exercise, cases, one.function) for one in asked(exercise)
        }
        wanted[exercise.number] = {
            name: [verdict.status, verdict.mistake, verdict.hint]
            for name, one in seen[exercise.number].items()
            for verdict in [judge_all(exercise, cases, one)]
        }
    told = inside(unpacked, {"seen": seen, "sources": answers(unpacked.name), "searched": {}})
    assert Path(told["where"]).is_relative_to(unpacked)
    assert told["verdicts"] == wanted
    for exercise in exercises:
        for wrong in asked(exercise):
            status, mistake, hint = told["verdicts"][exercise.number][wrong.name]
            assert status == "wrong" and is_its_own(wrong, mistake, hint)
    assert told["checks"] == {exercise.number: "passed" for exercise in exercises}
    # Cells that wait for an answer find all that they import, too.
    assert told["missing"] == []


@pytest.mark.thorough
@pytest.mark.timeout(1800)
def test_no_function_that_is_there_is_an_answer(unpacked: Path) -> None:
    told = inside(unpacked, {"seen": {}, "sources": {}, "searched": answers(unpacked.name)})
    assert told["passing"] == []


def inside(unpacked: Path, given: dict[str, Any]) -> dict[str, Any]:
    """What `in_a_release.py` tells when it runs in an unpacked release."""
    path = unpacked.parent / "given.pickle"
    path.write_bytes(pickle.dumps(given))
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "in_a_release.py"), str(path)],
        cwd=unpacked, env=releases.environment(unpacked),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


# --- the lesson with no answer, and then with half of them ----------------------------------------


class Session:
    """A lesson's notebook in its release, and a kernel that runs its cells."""

    def __init__(self, unpacked: Path) -> None:
        self.notebook = releases.lesson_in(unpacked)
        self.client = NotebookClient(
            self.notebook,
            timeout=600,
            iopub_timeout=60,
            kernel_name="python3",
            resources={"metadata": {"path": str(unpacked / "lessons")}},
        )

    def run(self, cell: NotebookNode) -> str:
        """Run a cell; returns all that it gave. It neither fails nor writes to stderr."""
        self.client.execute_cell(cell, self.notebook.cells.index(cell))
        for output in cell.outputs:
            assert output.output_type != "error", (cell.id, output)
            assert output.get("name") != "stderr", (cell.id, output)
        return json.dumps(cell.outputs, ensure_ascii=False)

    def tell(self, code: str) -> str:
        """Run code that is in no cell; returns what it printed."""
        cell = new_code_cell(code)
        self.notebook.cells.append(cell)
        said = self.run(cell)
        self.notebook.cells.remove(cell)
        return said


PREDICT = """\
from helpers.notebook import predict as _predict
for _one in _predict.made():
    _one.value = _one.choices[0] if _one.choices else 1.0
"""
COMPARED = "print([_one.question for _one in _predict.made() if not _one.compared])"


@pytest.mark.slow
@pytest.mark.sample(*releases.WITHOUT)
@pytest.mark.timeout(1800)
def test_with_no_answer_and_with_half_of_them(
    unpacked: Path, request: pytest.FixtureRequest
) -> None:
    session = Session(unpacked)
    half = in_sample(request.node, unpacked.name, "03", "14")
    path = unpacked / in_room(unpacked.name, RECORDED)
    table = json.loads(path.read_text(encoding="utf-8"))
    with session.client.setup_kernel(env=releases.environment(unpacked)):
        with_none(session, table)
        if half:
            with_half(
                session, table, [exercise.number for exercise in of_lesson(unpacked.name)][::2]
            )


def with_none(session: Session, table: dict[str, Any]) -> None:
    """Every cell runs, or shows what it showed elsewhere; predictions are compared all the same."""
    for cell in list(code_cells(session.notebook)):
        said, entry = session.run(cell), table.get(digest(cell.source))
        assert (ELSEWHERE in said) == (entry is not None), cell.id
        assert "stands in for yours" not in said
        if number := number_of(cell, CHECK_ID):
            assert f"Exercise {number} is not done yet." in said
        if "predict(" in cell.source:
            session.tell(PREDICT)
        if entry and "data-measured" in json.dumps(entry["outputs"]):
            assert "You said " in said and "no prediction" not in said, cell.id
    assert "[]" in session.tell(f"{PREDICT}\n{COMPARED}")


def with_half(session: Session, table: dict[str, Any], done: list[str]) -> None:
    """What the answers that are there give is used, and the names for it are there."""
    filled = {
        cell.id: cell.source for cell in code_cells(releases.answered(session.notebook, done))
    }
    fine = [number for number in done if set(find(number).builds_on) <= set(done)]
    for cell in list(code_cells(session.notebook)):
        entry = table.get(digest(cell.source))
        if "predict(" in cell.source:
            session.run(cell)  # a later cell may have used its name for something else
        elif number_of(cell) in done:
            cell.source = filled[cell.id]
            session.run(cell)
        elif (number := number_of(cell, CHECK_ID)) in done:
            said = session.run(cell)
            assert (": passed" in said) == (number in fine), (cell.id, said)
            missing = set(find(number).builds_on) - set(done)
            assert all(f"exercise {other}, which is open" in said for other in missing), said
        elif entry:
            said, needed = session.run(cell), {number for number, _ in entry["needs"]}
            assert (ELSEWHERE in said) == (not needed <= set(fine)), cell.id
            for name, number in entry["names"].items():
                function = find(number).function
                same = session.tell(f"print({name} is globals().get({function!r}))")
                assert ("True" in same) == (number in fine), (cell.id, name)
