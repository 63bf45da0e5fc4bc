"""`./course new`: a lesson to begin with passes, and goes again without a trace."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.course import cli
from helpers.course.build import new
from helpers.course.setup.places import ROOT
from tests.checks.table import Table, tells

COPIED = ("helpers", "tests", "solutions", "lessons", "benchmarks", "cluster", "docs", ".ci")
# Where a lesson shows that nothing but its own files speaks of: each lists or counts all lessons.
LISTING = ("tests/course/setup/test_pins.py",)


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A copy of the course, in which a lesson may be written."""
    for folder in COPIED:
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    return tmp_path


def python(course: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in a copy of the course."""
    command = [sys.executable, "-B", "-m", *arguments]
    return subprocess.run(command, cwd=course, capture_output=True, text=True, check=False)


def files(course: Path) -> set[Path]:
    """All that lies in it, but what Python and pytest keep."""
    return {p for p in course.rglob("*") if not {"__pycache__", ".pytest_cache"} & set(p.parts)}


@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_a_new_lesson_passes_and_goes_without_a_trace(course: Path) -> None:
    before, readme = files(course), (course / "README.md").read_text()
    made = python(course, "helpers.course.cli", "new", "19", "my_subject")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "9 files, and a row in README.md, are there" in made.stdout
    for check in (["check"], ["format", "--check"]):
        done = python(course, "ruff", *check, "--no-cache", ".")
        assert done.returncode == 0, done.stdout
    specs = ["tests/checks", "tests/grade/release/test_release.py"]
    done = python(course, "pytest", "-q", "--lesson", "19", "-p", "no:cacheprovider", *specs)
    assert done.returncode == 0, done.stdout
    done = python(course, "pytest", "-q", "-p", "no:cacheprovider", *LISTING)
    assert done.returncode == 0, done.stdout
    assert python(course, "helpers.course.cli", "build", "--check", "19").returncode == 0
    taken = python(course, "helpers.course.cli", "new", "19", "another")
    assert taken.returncode == 1 and "is there already" in taken.stderr
    gone = python(course, "helpers.course.cli", "new", "--remove", "19")
    assert gone.returncode == 0 and "are gone" in gone.stdout
    assert files(course) == before and (course / "README.md").read_text() == readme


def test_what_it_writes_is_a_lesson_and_goes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cells are not run."""
    (tmp_path / "README.md").write_text("| [17 a\n| [18 a\nend\n")
    (tmp_path / "solutions").mkdir()
    built: list[tuple[str, ...]] = []
    monkeypatch.setattr(new, "build", lambda run, only, root: built.append(only))
    names = new.new("19", "my_field", tmp_path)
    assert built == [("19",)] and names[-1] == "lessons/19_my_field.ipynb"
    texts = {name: (tmp_path / name).read_text(encoding="utf-8") for name in names[:-1]}
    assert len(texts) == 8 and files(tmp_path) >= {tmp_path / name for name in texts}
    for name, text in texts.items():
        assert "my_subject" not in text and "My subject" not in text and "NN" not in text, name
        if name.endswith(".py"):
            compile(text, name, "exec")
    cells = json.loads(texts["solutions/19_my_field.ipynb"])["cells"]
    assert "".join(cells[0]["source"]).startswith("# 19 My field")
    readme = (tmp_path / "README.md").read_text().splitlines()
    assert "19 My field" in readme[2] and readme[3] == "end"
    with pytest.raises(new.NotNew, match="is there already"):
        new.new("19", "another", tmp_path)
    monkeypatch.setattr("helpers.course.testing.changed.git", lambda *words, root: [])
    assert sorted(new.remove("19", tmp_path)) == sorted(texts)
    assert not [path for path in files(tmp_path) if "19" in path.name]
    assert (tmp_path / "README.md").read_text() == "| [17 a\n| [18 a\nend\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("9", "x"), "has two digits, such as 19"),
        (("19", ""), "made of a-z, 0-9 and _"),
        (("19", "My subject"), "made of a-z, 0-9 and _"),
        (("02", "messages"), "is there already"),
        (("19", "pipelines"), "exercises/__init__.py is there already"),
        (("--remove", "77"), "There is no lesson 77"),
        (("--remove", "02"), "remove lesson 02 with git"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_changed(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if said.endswith("git") and not (ROOT / ".git").exists():
        pytest.skip("This copy of the course is in no repository.")
    assert cli.main(["new", *arguments]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["mean", "steps"])
def test_its_answers_are_told_what_is_their_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (new.TEMPLATE / "exercises" / f"{name}.py").read_text(encoding="utf-8")
    module = f"a_new_lesson_s_{name}"
    (tmp_path / f"{module}.py").write_text(text.replace("NN", "19"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    exercise = importlib.import_module(module).EXERCISE
    table = Table(exercise)
    assert table.verdict(exercise.reference).status == "passed"
    for answer in exercise.wrong:
        found = table.verdict(answer.function)
        assert tells(exercise, answer, found), (answer.name, found)
