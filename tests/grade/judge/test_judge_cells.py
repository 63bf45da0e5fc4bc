"""Cells that were deleted, doubled, split, moved, renamed or broken; cells that end the process."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from submissions import code_cells, solution, untouched, write

from helpers.engine import own_time
from helpers.grade.grades import ExerciseGrade
from helpers.grade.judge import Budgets, Graded, Judge
from helpers.grade.judge.budgets import BUDGETS
from helpers.grade.sandbox import missing
from helpers.notebook.record import SWITCH
from tests.grade.judge.here import Judges

MISSING = missing()
pytestmark = [pytest.mark.real, pytest.mark.skipif(bool(MISSING), reason=MISSING or "")]

SHORT = Budgets(step=4.0, call=4.0)  # of its own time, where something does not end
SOLUTION = code_cells(solution("02"))
FULL = 15.0


@pytest.fixture
def judge(judges: Judges) -> Judge:
    return judges("02")


@pytest.fixture
def short(judge: Judge) -> Iterator[None]:
    """Without much patience, for what will not end."""
    judge.budgets = SHORT
    yield
    judge.budgets = BUDGETS


@pytest.fixture
def graded(judge: Judge, tmp_path: Path):
    def grade(*sources: str) -> Graded:
        return judge.grade(write(tmp_path / "it.ipynb", sources), "ada", 4711)

    return grade


def one(found: Graded, number: str) -> ExerciseGrade:
    return next(e for e in found.grade.exercises if e.number == number)


def test_order_doubles_stubs_and_what_is_no_python_do_no_harm(
    graded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SWITCH)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    stubs = code_cells(untouched("02"))
    split = [part for source in SOLUTION for part in source.split("\n\n\n")]
    extra = ["%matplotlib inline\n!ls", "%%time\nx = 1", "%%bash\nrm -rf /", "help?", "1 +"]
    cells = [*stubs, *SOLUTION, *split, *extra, *stubs]
    random.Random(1).shuffle(cells)
    assert graded(*cells).grade.total == FULL
    # Its cells call helpers.lesson and helpers.check: grading is nobody's progress.
    assert not (tmp_path / "data").exists()


def test_each_ending_is_told_and_costs_its_exercise_alone(graded, short) -> None:
    exits = "import os\n\n\ndef broadcast_tree(comm, tensor, root):\n    os._exit(0)\n"
    endless = "def fit(sizes, seconds):\n    while True:\n        pass\n"
    raises = "all_reduce_shared = {}['nothing']"
    gone = r"def (scatter|broadcast_tree|fit|all_reduce_shared)"
    others = [s for s in SOLUTION if not re.search(gone, s)]
    found = graded(*others, exits, endless, raises)
    told = {e.number: e.outcome for e in found.grade.exercises}
    assert told == {
        "02.1": "missing",
        "02.2": "crashed",
        "02.3": "passed",
        "02.4": "time-out",
        "02.5": "error",
    }
    assert "`scatter`" in one(found, "02.1").reason
    assert "KeyError" in one(found, "02.5").hint
    assert found.grade.total == one(found, "02.3").max and found.crashes == 2


def test_statements_that_end_or_stall_the_process_are_skipped(graded, short) -> None:
    spin = "def spin():\n    while True:\n        pass\n\n\nfit = spin()"
    crash = "import ctypes\n\n\ndef gone():\n    ctypes.string_at(0)\n\n\nscatter = gone()"
    others = [s for s in SOLUTION if "def scatter" not in s and "def fit" not in s]
    found = graded(spin, crash, *others)
    told = [e.outcome for e in found.grade.exercises]
    assert told == ["crashed", "passed", "passed", "time-out", "passed"] and found.crashes == 2


def without(function: str) -> list[str]:
    return [s for s in SOLUTION if f"def {function}" not in s]


@pytest.mark.thorough
def test_a_submission_that_uses_up_its_time_ends(judge: Judge, short: None, tmp_path: Path) -> None:
    sleepy = "import time\n\n\ndef {}(*args):\n    time.sleep(60)\n"
    names = ["scatter", "broadcast_tree", "all_reduce_ring", "fit", "all_reduce_shared"]
    path = write(tmp_path / "slow.ipynb", [sleepy.format(name) for name in names])
    judge.budgets = Budgets(step=2, cells=6, call=2, exercise=4, submission=5)
    found = judge.grade(path, "ada", 5)
    assert {e.outcome for e in found.grade.exercises} == {"time-out"}
    assert found.grade.exercises[-1].mistake == "no time left"


@pytest.mark.parametrize(
    ("then", "outcome"),
    [
        ("return batch", "wrong"),
        pytest.param("batch = None", "error", marks=pytest.mark.thorough),
        pytest.param("time.sleep(60)", "time-out", marks=pytest.mark.thorough),
    ],
)
def test_an_answer_that_is_right_on_the_virtual_clock_alone_is_found(graded, then, outcome) -> None:
    source = next(s for s in SOLUTION if "def scatter" in s).replace("def scatter(", "def inner(")
    telling = (
        "import time\n\n\ndef scatter(comm, batch, rows, width):\n"
        f"    if 'Remote' not in type(comm).__name__:\n        {then}\n"
        "    return inner(comm, batch, rows, width)\n"
    )
    found = one(graded(*without("scatter"), source, telling), "02.1")
    assert (found.outcome, found.mistake) == (outcome, "differs on real ranks")


def test_tmp_lasts_from_case_to_case_and_not_to_the_next_submission(graded) -> None:
    fit = next(s for s in SOLUTION if "def fit" in s).replace("def fit(", "def inner(")
    keeps = (
        "import pathlib\n\n\ndef fit(sizes, seconds):\n    path = pathlib.Path('/tmp/kept')\n"
        "    if path.exists():\n        raise KeyError('from another case')\n"
        "    path.touch()\n    return inner(sizes, seconds)\n"
    )
    for _ in range(2):  # each with a whole first case
        found = graded(*without("fit"), fit, keeps)
        kept = one(found, "02.4")
        assert kept.outcome == "error" and "from another case" in kept.hint
        assert found.grade.total == FULL - kept.max
    assert graded(*SOLUTION).grade.total == FULL


def test_the_last_patience_decides_nothing(graded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_time, "PATIENCE", 0.1)
    monkeypatch.setattr(own_time, "_ASLEEP", "")  # as where nobody can see that it sleeps
    found = graded(*SOLUTION, "import time\n\ndef fit(sizes, seconds):\n    time.sleep(600)\n")
    assert one(found, "02.4").outcome == "not judged"
    # So short a patience may be too short for others, too: it never calls one wrong.
    assert {e.outcome for e in found.grade.exercises} <= {"passed", "not judged"}
