"""`./course grade`: options, and what the instructor is told."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fake_slots
import pytest
from fake_grader import FILE, JUDGE, ROOT, hand_in

from helpers.course import cli
from helpers.course.paths import typed
from helpers.grade.wish import Wish

Command = Callable[..., int]
NO_SANDBOX = ("--sandbox", "none")


@pytest.fixture
def grade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command with "in" and "out", a judge that pretends, in slots that start no process, and
    without bubblewrap."""
    fake_slots.install(monkeypatch, tmp_path)
    monkeypatch.setenv("COURSE_FROM", str(tmp_path))
    monkeypatch.setattr("helpers.course.grade.Wish", partial(Wish, judge=JUDGE))
    monkeypatch.setattr("helpers.course.grade.missing", lambda: "Install bubblewrap")
    return lambda *more: cli.main(["grade", "in", "--lesson", "2", "--out", "out", *more])


def test_without_a_sandbox_it_says_what_to_install_unless_that_is_on_purpose(
    grade: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in(tmp_path / "in", "ann")
    assert grade() == 2
    told = capsys.readouterr()
    assert "Install bubblewrap" in told.err and not (tmp_path / "out").exists()
    assert grade(*NO_SANDBOX) == 0
    assert "Not sandboxed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["in", "--out", "out"], "Say which lesson it is by its number"),
        (["in", "--out", "out", "--lesson", "two"], "Say which lesson it is by its number"),
        (["in", "--out", "out", "--lesson", "99", *NO_SANDBOX], "no lesson 99"),
        (["in", "more", "--out", "out", "--lesson", "02"], "Name one folder of submissions, not 2"),
        (["in", "--out", "out", "--lesson", "02", "--shard", "3/2"], "--shard is '3/2'"),
        (["in", "--out", "out", "--lesson", "02", "--shard", "0/2"], "--shard is '0/2'"),
        (["nowhere", "--out", "o", "--lesson", "02", *NO_SANDBOX], "There is no folder"),
        (["--out", "out"], "Missing argument"),
        (["in", "--lesson", "02"], "Say where the grades go"),
        (["in", "--out", "out", "--lesson", "02", "--until-idle", "5"], "give --watch, too"),
        (["stats", "in", "--out", "out", "--watch"], "is for one whole folder"),
        (["in", "--out", "out", "--watch", "--shard", "1/2"], "is for one whole folder"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(
    grade: Command,
    tmp_path: Path,
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hand_in(tmp_path / "in", "ann")
    assert cli.main(["grade", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--roster", "--key"])
@pytest.mark.parametrize("named", ["nowhere/x", "in"])
def test_a_file_that_cannot_be_read_is_told_before_anything_is_written(
    grade: Command, tmp_path: Path, option: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in(tmp_path / "in", "ann")
    assert grade(*NO_SANDBOX, option, named) == 2
    told = capsys.readouterr().err
    assert f"{tmp_path / named} cannot be read" in told and f"with {option}" in told
    assert not (tmp_path / "out").exists()


def test_it_says_what_was_done(
    grade: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in(tmp_path / "in", "ann")
    hand_in(tmp_path / "in", "dora", do="die")
    for graded in ("2 graded, 0", "1 graded, 1"):
        assert grade(*NO_SANDBOX) == 1
        said = "".join(capsys.readouterr())
        assert f"2 submissions: {graded} unchanged since an earlier run." in said
        assert "At 1 of them the grader itself failed (dora)" in said
        assert str(tmp_path / "out" / "class.html") in said
    for i in range(6):
        hand_in(tmp_path / "in", f"s{i}", do="unjudged")
    assert grade(*NO_SANDBOX) == 1
    said = "Not judged in full: 7 (dora, s0, s1, s2, s3 and 2 more). That says nothing about the"
    assert said in capsys.readouterr().err


def test_a_watch_and_a_part_say_what_they_did(
    grade: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ann", "bob"):
        hand_in(tmp_path / "in", name)
    assert grade(*NO_SANDBOX, "--shard", "1/2") == grade(*NO_SANDBOX, "--shard", "2/2") == 0
    assert "the same command without --shard writes the reports" in capsys.readouterr().out
    hand_in(tmp_path / "in", "carl")
    assert grade(*NO_SANDBOX, "--watch", "--until-idle", "5") == 0
    said = capsys.readouterr().out
    assert "With a result from before: 2." in said and " carl: " in said
    assert "3 submissions: 1 graded since this began." in said


def test_a_second_download_is_told_to_instructor_and_student(
    grade: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in(tmp_path / "in", "ann").with_name("02_messages (1).ipynb").write_text("{}")
    (tmp_path / "in" / "bob").mkdir()
    for name in ("02 (1).ipynb", "02 (2).ipynb"):
        (tmp_path / "in" / "bob" / name).write_text("{}")
    assert grade(*NO_SANDBOX) == 0
    said, out = "02_messages.ipynb was graded, since it has the lesson", tmp_path / "out"
    told = capsys.readouterr().out
    assert f"ann: The folder holds {FILE} and also" in told and said in told
    assert "bob: Several notebooks could be 02_messages.ipynb (02 (1).ipynb, 02 (2)" in told
    assert "To look at: 2 of 2 submissions." in told and told.index("bob: ") < told.index("ann: ")
    pages = [out / "class.html", out / "grades.json"]
    pages += [*out.glob("students/ann-*"), *out.glob("gradescope/ann-*/results.json")]
    assert len(pages) == 4 and all(said in page.read_text() for page in pages)


def test_it_says_how_many_are_to_be_looked_at_and_what_is_nobodys(
    grade: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "submissions.zip").write_bytes(b"PK")
    assert grade(*NO_SANDBOX) == 2
    said = "in holds no submissions: it needs a folder or a notebook for each student. There is no"
    assert said in capsys.readouterr().err
    for number in range(12):
        (folder / f"s{number}").mkdir()
    hand_in(folder, "ann")
    assert grade(*NO_SANDBOX) == 0
    told = capsys.readouterr().out
    assert "To look at: 12 of 13 submissions." in told and "And 2 more; the page" in told
    assert "nobody is called so: submissions: There is no notebook, but 1 other file" in told


def test_a_full_disk_is_told(
    grade: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    hand_in(tmp_path / "in", "ann")

    def full(*arguments: Any, **keywords: Any) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "out" / "x"))

    monkeypatch.setattr("helpers.grade.grading.write", full)
    assert grade(*NO_SANDBOX) == 2
    assert "No space left on device" in capsys.readouterr().err


def test_paths_are_those_of_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_FROM", str(tmp_path))
    assert typed("in") == tmp_path / "in" and typed("/in") == Path("/in")
    monkeypatch.delenv("COURSE_FROM")
    assert typed("in") == Path.cwd() / "in"


@pytest.mark.real
def test_the_script_remembers_where_it_was_called(tmp_path: Path) -> None:
    python = tmp_path / "a course" / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$COURSE_FROM"\n')
    python.chmod(0o755)
    (tmp_path / "a course" / ".venv" / "course.json").write_text("{}")
    shutil.copy(ROOT / "course", tmp_path / "a course")
    command, environment = ["sh", "a course/course"], {"PATH": os.environ["PATH"]}
    told = subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)
    assert told == f"{tmp_path}\n"


ASKED = ("my class", "03", "out", "grading.key", "--roster", "class list.csv")
ARRAY = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "5", "SLURM_CPUS_PER_TASK": "8"}
PART = (
    "grade my class --lesson 03 --out out --shard 2/{all} --key grading.key --jobs 8 "
    "--roster class list.csv\n"
)


@pytest.mark.real
@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (ASKED, ARRAY, PART.format(all=5)),
        (ASKED, {**ARRAY, "SLURM_ARRAY_TASK_COUNT": "1", "PARTS_IN_ALL": "9"}, PART.format(all=9)),
        (["folder"], ARRAY, "Use: sbatch"),
        (ASKED, {}, "one task of an array"),
        (ASKED, {**ARRAY, "SLURM_ARRAY_TASK_MIN": "0"}, "The array is not 1-N"),
    ],
)
def test_a_slurm_task_grades_its_part(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], said: str
) -> None:
    course = tmp_path / "course"  # only prints its arguments
    course.write_text('#!/bin/sh\necho "$@"\n')
    course.chmod(0o755)
    told = subprocess.run(
        ["bash", ROOT / "cluster" / "grade.slurm", *arguments],
        env={"PATH": os.environ["PATH"], "SLURM_SUBMIT_DIR": str(tmp_path), **environment},
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert said in told.stdout and bool(told.returncode) == (not said.startswith("grade"))
