"""`./course grade`: options, and what the instructor is told."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import fake_slots
import pytest
from fake_grader import FILE, JUDGE, ROOT, hand_in

from helpers import cli
from helpers.commands.paths import typed
from helpers.instructor.grading import Wish


@pytest.fixture(autouse=True)
def in_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that pretends, in slots that start no process, and a key of the test's own."""
    fake_slots.install(monkeypatch)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("helpers.commands.grade.Wish", partial(Wish, judge=JUDGE))


def refuse(*arguments: Any, **keywords: Any) -> str:
    return "Install bubblewrap: sudo apt-get install bubblewrap"


def test_without_a_sandbox_it_says_what_to_install_unless_that_is_on_purpose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in(tmp_path / "in", "ann")
    monkeypatch.setattr("helpers.commands.grade.missing", refuse)
    asked = ["grade", str(tmp_path / "in"), "--lesson", "2", "--out", str(tmp_path / "out")]
    assert cli.main(asked) == 2
    told = capsys.readouterr()
    assert "sudo apt-get install bubblewrap" in told.err and "Traceback" not in told.err
    assert not (tmp_path / "out").exists()
    assert cli.main([*asked, "--sandbox", "none"]) == 0
    assert "Not sandboxed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["in", "--out", "out"], "Say which lesson it is by its number"),
        (["in", "--out", "out", "--lesson", "two"], "Say which lesson it is by its number"),
        (["in", "--out", "out", "--lesson", "99", "--sandbox", "none"], "no lesson 99"),
        (["in", "more", "--out", "out", "--lesson", "02"], "Name one folder of submissions, not 2"),
        (["in", "--out", "out", "--lesson", "02", "--shard", "3/2"], "--shard is '3/2'"),
        (["in", "--out", "out", "--lesson", "02", "--shard", "0/2"], "--shard is '0/2'"),
        (["nowhere", "--out", "o", "--lesson", "02", "--sandbox", "none"], "There is no folder"),
        (["--out", "out"], "Missing argument"),
        (["in", "--lesson", "02"], "Say where the grades go"),
        (["in", "--out", "out", "--lesson", "02", "--until-idle", "5"], "give --watch, too"),
        (["stats", "in", "--out", "out", "--watch"], "is for one whole folder"),
        (["in", "--out", "out", "--watch", "--shard", "1/2"], "is for one whole folder"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(
    tmp_path: Path,
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hand_in(tmp_path / "in", "ann")
    monkeypatch.setenv("COURSE_FROM", str(tmp_path))
    assert cli.main(["grade", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--roster", "--key"])
@pytest.mark.parametrize("named", ["nowhere/x", "in"])
def test_a_file_that_cannot_be_read_is_told_before_anything_is_written(
    tmp_path: Path,
    option: str,
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hand_in(tmp_path / "in", "ann")
    monkeypatch.setenv("COURSE_FROM", str(tmp_path))
    asked = ["grade", "in", "--lesson", "02", "--out", "deep/out", "--sandbox", "none"]
    assert cli.main([*asked, option, named]) == 2
    told = capsys.readouterr().err
    assert f"{tmp_path / named} cannot be read" in told and f"with {option}" in told
    assert not (tmp_path / "deep").exists()


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
    told = subprocess.run(
        ["sh", "a course/course"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == f"{tmp_path}\n"


def test_it_says_what_was_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ann", "bob"):
        hand_in(tmp_path / "in", name)
    hand_in(tmp_path / "in", "dora", do="die")
    asked = ["grade", str(tmp_path / "in"), "--lesson", "02", "--out", str(tmp_path / "out")]
    for graded in ("3 graded, 0", "1 graded, 2"):
        assert cli.main([*asked, "--sandbox", "none"]) == 1
        said = "".join(capsys.readouterr())
        assert f"3 submissions: {graded} unchanged since an earlier run." in said
        assert "Not judged in full: 1 (dora). That says nothing about the answers." in said
        assert "At 1 of them the grader itself failed (dora)" in said
        assert str(tmp_path / "out" / "class.html") in said


def test_it_names_who_was_not_judged_in_full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(7):
        hand_in(tmp_path / "in", f"s{i}", do="unjudged")
    out = tmp_path / "out"
    asked = ["grade", str(tmp_path / "in"), "--lesson", "02", "--out", str(out)]
    assert cli.main([*asked, "--sandbox", "none"]) == 1
    said = "Not judged in full: 7 (s0, s1, s2, s3, s4 and 2 more)."
    assert f"{said} That says nothing about the answers. Run the same" in capsys.readouterr().err


def test_a_second_download_is_told_to_instructor_and_student(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in(tmp_path / "in", "ann").with_name("02_messages (1).ipynb").write_text("{}")
    (tmp_path / "in" / "bob").mkdir()
    for name in ("02 (1).ipynb", "02 (2).ipynb"):
        (tmp_path / "in" / "bob" / name).write_text("{}")
    out = tmp_path / "out"
    asked = ["grade", str(tmp_path / "in"), "--lesson", "02", "--out", str(out)]
    assert cli.main([*asked, "--sandbox", "none"]) == 0
    said = "02_messages.ipynb was graded, since it has the lesson"
    assert f"ann: The folder holds {FILE} and also" in (told := capsys.readouterr().out)
    assert said in told
    assert "bob: Several notebooks could be 02_messages.ipynb (02 (1).ipynb, 02 (2)" in told
    pages = ["class.html", "grades.json"]
    for where in ("students/ann-*", "gradescope/ann-*/results.json"):
        pages += [str(p.relative_to(out)) for p in out.glob(where)]
    assert len(pages) == 4 and all(said in (out / page).read_text() for page in pages)


def test_a_watch_and_a_part_say_what_they_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ann", "bob"):
        hand_in(tmp_path / "in", name)
    asked = ["grade", str(tmp_path / "in"), "--lesson", "02", "--out", str(tmp_path / "out")]
    asked += ["--sandbox", "none"]
    assert cli.main([*asked, "--shard", "1/2"]) == cli.main([*asked, "--shard", "2/2"]) == 0
    assert "the same command without --shard writes the reports" in capsys.readouterr().out
    hand_in(tmp_path / "in", "carl")
    assert cli.main([*asked, "--watch", "--until-idle", "5"]) == 0
    said = capsys.readouterr().out
    assert "With a result from before: 2." in said and " carl: " in said
    assert "3 submissions: 1 graded since this began." in said


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    hand_in(tmp_path / "in", "ann")

    def full(*arguments: Any, **keywords: Any) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "out" / "x"))

    monkeypatch.setattr("helpers.instructor.grading.store.write", full)
    asked = ["grade", str(tmp_path / "in"), "--lesson", "02", "--out", str(tmp_path / "out")]
    assert cli.main([*asked, "--sandbox", "none"]) == 2
    assert "No space left on device" in capsys.readouterr().err


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
