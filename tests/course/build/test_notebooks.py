"""The solutions: each has its lesson, and gives its stored outputs where a student runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbval_near
import pytest
import releases
from nbformat.v4 import new_code_cell, new_notebook

from helpers.course.build.notebook import execute, normalise, text
from helpers.course.build.run import build, notebooks
from helpers.engine.hosts.namespaces import SWITCH

ROOT = Path(__file__).parents[3]
SOLUTIONS = notebooks(ROOT / "solutions")
SECONDS = 3000  # ends a notebook that hangs
CELL = 600  # likewise a cell


def test_lessons_and_solutions_agree(capsys: pytest.CaptureFixture[str]) -> None:
    code = build(check=True)
    assert code == 0, capsys.readouterr().out


# Behind the last cell: all has run, and nothing was shown from another machine; of a whole lesson,
# whatever was predicted has been compared.
LAST = """\
from helpers.notebook import predict, recorded
assert not recorded.shown, recorded.shown
"""
PREDICTED = "assert not [one.question for one in predict.made() if not one.compared]"


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.sample(*releases.WITH_ANSWERS)
@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize("lesson", [path.name[:2] for path in SOLUTIONS])
def test_with_all_answers_a_release_gives_the_stored_outputs(
    lesson: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Everyday without the cells that are compared with nothing, such as those that measure."""
    whole = request.config.getoption("--all") or lesson not in releases.WITH_ANSWERS
    unpacked = releases.unpack(lesson, tmp_path, hints=whole)
    notebook = releases.with_stored_outputs(releases.answered(releases.lesson_in(unpacked)))
    notebook = notebook if whole else releases.compared(notebook)
    notebook.cells.append(new_code_cell(LAST + PREDICTED if whole else LAST, id="last"))
    path = next((unpacked / "lessons").glob("*.ipynb"))
    path.write_text(text(notebook), encoding="utf-8")
    done = nbval(path, unpacked)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def nbval(path: Path, course: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a notebook against its stored outputs, in a process of its own.

    course: the copy of the course that its cells import.

    Without a cell's time-out a dead kernel would wait for 2000 s; the project's own pytest options
    are not for cells.
    """
    command = [
        sys.executable, "-m", "pytest", "--nbval", f"--nbval-cell-timeout={CELL}",
        f"--timeout={CELL + 20}", "-q", "--tb=short",
        "-p", "no:cacheprovider", "-p", "nbval_near", "-p", "kernel_ports",
        "-o", "addopts=", "--color=no", str(path),
    ]  # fmt: skip
    return subprocess.run(
        command, cwd=course, capture_output=True, text=True, timeout=SECONDS, check=False,
        env=releases.environment(course, ROOT / "tests"),
    )  # fmt: skip


@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.timeout(SECONDS + 120)
def test_the_lesson_on_links_is_complete_without_virtual_hosts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(SWITCH, "clock")
    (path,) = (path for path in SOLUTIONS if path.name.startswith("09_"))
    done = nbval(path)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stored", "tags", "code"),
    [("22 % at best", [], 0), ("23 % at best", [nbval_near.TAG], 0), ("23 % at best", [], 1)],
)
def test_nbval_sees_an_output_that_has_changed(
    stored: str, tags: list[str], code: int, tmp_path: Path
) -> None:
    """A comparison that cannot fail would be no comparison; a tag lets numbers differ a little."""
    notebook = new_notebook(cells=[new_code_cell("print(22, '% at best')", id="best")])
    execute(notebook, tmp_path)
    notebook.cells[0].outputs[0].text = f"{stored}\n"
    notebook.cells[0].metadata["tags"] = tags
    path = tmp_path / "00_best.ipynb"
    path.write_text(text(normalise(notebook)), encoding="utf-8")
    done = nbval(path)
    assert done.returncode == code and ("Cell outputs differ" in done.stdout) == bool(code)


@pytest.mark.parametrize(
    "stored, new, near",
    [
        ("23 % at best", "22 % at best", True),
        ("9 % at best", "10 % at best", True),
        ("a   9\n-------\n", "a  10\n--------\n", True),
        ("ends at 0.0018", "ends at 0.0019", True),
        ("1,200 kB", "1,250 kB", True),
        ("-4.6", "4.6", False),
        ("23 % at best", "30 % at best", False),
        ("23 % at best", "23 % at last", False),
        ("3 of 4", "3 of 40", False),
    ],
)
def test_near_is_a_tenth_or_the_last_digit(stored: str, new: str, near: bool) -> None:
    assert nbval_near.near(stored, new) == near
