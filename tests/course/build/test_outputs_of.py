"""Stored outputs are fresh by what a solution's cells import, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from small_solution import NAME, cell_of, edit, put, solution

from helpers.course.build import imports, outputs_of
from helpers.course.build.notebook import ran
from helpers.course.build.outputs_of import imports_hash
from helpers.course.build.run import build

CELL = "from helpers.lessons.own.experiments.mine import run\nrun()"
FILES = {
    "lessons/own/experiments/mine.py": '"""A run."""\n\n'
    "from helpers.lessons.own.algorithms.rule import rule\n"
    "from helpers.engine.comm import Comm\n\n\ndef run():\n    return rule(1)  # once\n",
    "lessons/own/algorithms/rule.py": "def rule(x):\n    return x\n",
    "lessons/own/algorithms/other.py": "def other(x):\n    return x\n",
    "engine/comm.py": "class Comm:\n    pass\n",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder `helpers` of a small course."""
    monkeypatch.setattr(outputs_of, "ROOT", tmp_path)
    monkeypatch.setattr(imports, "ROOT", tmp_path)
    for name, text in FILES.items():
        path = tmp_path / "helpers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    forget()
    yield tmp_path / "helpers"
    forget()


def forget() -> None:
    """What was read of the files is read anew."""
    for each in (imports.modules, imports.parsed, outputs_of.code_of):
        each.cache_clear()


def now(source: str = CELL) -> str:
    forget()
    return imports_hash(new_notebook(cells=[new_code_cell(source)]))


@pytest.mark.parametrize(
    ("name", "old", "new", "same"),
    [
        ("lessons/own/experiments/mine.py", "rule(1)", "rule(2)", False),
        ("lessons/own/algorithms/rule.py", "return x", "return -x", False),  # what that imports
        ("lessons/own/algorithms/other.py", "return x", "return -x", True),  # which nobody imports
        ("engine/comm.py", "pass", "x = 1", True),  # what every lesson runs on
        ("lessons/own/experiments/mine.py", "# once", "# once a day", True),
        ("lessons/own/experiments/mine.py", "A run.", "A longer run.", True),
    ],
)
def test_what_makes_outputs_old(home: Path, name: str, old: str, new: str, same: bool) -> None:
    before = now()
    text = (home / name).read_text(encoding="utf-8")
    assert old in text
    (home / name).write_text(text.replace(old, new), encoding="utf-8")
    assert (now() == before) is same


@pytest.mark.parametrize(
    "source",
    [
        "import helpers.lessons.own.experiments.mine",
        "from helpers.lessons.own.experiments import mine as m",
        "def late():\n    from helpers.lessons.own.experiments.mine import run",
    ],
)
def test_however_it_is_imported_it_counts(home: Path, source: str) -> None:
    assert now(source) == now() != now("import helpers")


def test_the_build_tells_and_a_run_renews(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = home.parent
    notebook = solution()
    cell_of(notebook, "print").source = CELL
    ran(notebook)
    put(root, notebook)
    assert build(root=root) == 0 and build(check=True, root=root) == 0
    (home / "lessons/own/algorithms/rule.py").write_text(
        "def rule(x):\n    return 3\n", encoding="utf-8"
    )
    forget()
    capsys.readouterr()
    assert build(check=True, root=root) == 1
    assert f"{NAME}: what its cells import was edited" in capsys.readouterr().out
    edit(root, "solutions", ran)
    assert build(check=True, root=root) == 0
