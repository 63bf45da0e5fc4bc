"""`./course test --changed` and `--lesson`: what a difference reaches, and what is chosen then."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.checks import find
from helpers.course.testing import changed
from helpers.course.testing.changed import Reach, reach
from helpers.course.testing.run import Choice, collected
from tests import selection

SPEC = "helpers/lessons/asynchronous/exercises/compensate.py"


@pytest.mark.parametrize(
    ("differs", "lessons", "exercises", "file"),
    [
        (SPEC, {"06"}, {"06.5"}, ""),
        ("solutions/02_messages.ipynb", {"02"}, set(), ""),
        # What shows it, in a notebook; algorithms have tests of their own, and reach none.
        ("helpers/lessons/pipelines/figures/pipeline_view.py", {"13"}, set(), "test_pipeline_view"),
        ("helpers/lessons/data_parallel/algorithms/learning_rate.py", set(), {"03.6"},
         "test_step_model.py"),
        # What is started by its name.
        ("helpers/grade/judge/judge.py", set(), set(), "test_grading_run"),
    ],
)  # fmt: skip
def test_a_difference_reaches_what_uses_it(
    differs: str, lessons: set[str], exercises: set[str], file: str
) -> None:
    found = reach([differs])
    assert found.lessons == lessons and found.exercises <= exercises
    assert not file or any(file in name for name in found.files)


def test_a_spec_is_reached_alone_and_a_leaf_reaches_few() -> None:
    assert reach([SPEC]).exercises == {"06.5"} and not reach([SPEC]).whole
    leaf = reach(["helpers/lessons/data_parallel/algorithms/learning_rate.py"])
    assert len(leaf.files) < 6


def test_what_every_test_depends_on_reaches_all() -> None:
    found = reach(["pyproject.toml"])
    assert found.everything and collected(found) == ["tests"]


def test_words_alone_reach_nothing() -> None:
    assert reach(["README.md", "docs/sandbox.md"]).nothing
    assert not reach([SPEC]).nothing


# --- the commit to compare with -------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A repository with one commit, in place of the course."""

    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(changed, "ROOT", tmp_path)
    git("init", "-q")
    (tmp_path / "one.py").write_text("1\n")
    git("add", "one.py")
    git("commit", "-qm", "one")
    return git


def test_what_differs_is_told_since_the_tests_last_passed(
    repository: Callable[..., None], tmp_path: Path
) -> None:
    changed.note_passed()
    passed = changed.base()
    (tmp_path / "one.py").write_text("2\n")
    (tmp_path / "two.py").write_text("2\n")
    assert changed.differences(passed) == ("one.py", "two.py")
    changed.note_passed()  # with something beside the commit: nothing is known of it
    repository("add", ".")
    repository("commit", "-qm", "two")
    assert changed.base() == passed and changed.differences(passed) == ("one.py", "two.py")
    changed.note_passed()
    assert changed.base() != passed and changed.differences(changed.base()) == ()


def test_without_a_commit_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    with pytest.raises(LookupError, match="no commits to compare with"):
        changed.base()


# --- the choice -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "found"),
    [("06", ["06"]), ("06.5", ["06.5"]), ("6", []), (6, []), (Path("a/06_x.ipynb"), ["06"])],
)
def test_a_test_belongs_to_what_it_is_given(value: Any, found: list[str]) -> None:
    assert list(selection.numbers(value)) == found
    assert list(selection.numbers(find("06.5"))) == ["06.5"]
    assert list(selection.numbers([find("06.5")])) == ["06"]


def an_item(file: str, *values: Any) -> Any:
    """A test as pytest has it."""
    called = SimpleNamespace(params={str(n): value for n, value in enumerate(values)})
    config = SimpleNamespace(rootpath=Path("/course"))
    return SimpleNamespace(path=Path("/course") / file, callspec=called, config=config)


def test_a_reached_lesson_runs_what_belongs_to_it() -> None:
    told = {"files": ["a.py", "b.py"], "whole": ["a.py"], "lessons": ["06"], "exercises": ["03.2"]}
    assert selection.is_reached(an_item("a.py", "13"), told)
    assert selection.is_reached(an_item("b.py"), told)
    assert not selection.is_reached(an_item("c.py"), told)
    assert not selection.is_reached(an_item("b.py", "13"), told)
    assert selection.is_reached(an_item("c.py", "06.1"), told)
    assert selection.is_reached(an_item("tests/checks/c.py", "03.2"), told)
    assert not selection.is_reached(an_item("tests/grade/c.py", "03.2"), told)
    assert not selection.is_reached(an_item("c.py", "03"), told)


def test_only_files_that_hold_something_are_collected() -> None:
    assert collected(Reach((), files=frozenset({"tests/a.py"})))[1:] == ["tests/a.py"]
    assert collected(Reach((), lessons=frozenset({"06"})))[1:] == ["tests"]
    assert Choice().whole and not Choice(lesson="06").whole
