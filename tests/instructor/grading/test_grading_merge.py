"""Parts of a class, graded apart and joined: the same bytes as one run over everything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import fake_slots
import pytest
from fake_grader import JUDGE, ROOT, hand_in, notebook, results

from helpers.instructor.grading import GradingError
from helpers.instructor.grading.merge import merge
from helpers.instructor.grading.run import Done, Wish, grade
from helpers.instructor.grading.store import Store

PARTS = 3
ROSTER = "Student,ID,SIS Login ID,My Lesson 2 (77)\nDoe,1,s1,\nRoe,2,s2,\nPoe,3,poe,\nMoe,4,moe,\n"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of the test's own, a grader that nobody edits meanwhile, and slots in this process."""
    fake_slots.install(monkeypatch)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    version = "helpers.instructor.grading.run.grader_version"
    monkeypatch.setattr(version, lambda lesson, judge: "as it was")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve submissions, with some of each trouble, and a class list."""
    made = tmp_path / "submissions"
    for i in range(8):
        hand_in(made, f"s{i}", note="a note" if i == 3 else "")
    hand_in(made, "dies", do="die")
    (made / "empty").mkdir()
    (made / "link.ipynb").symlink_to(made / "s1" / "02_messages.ipynb")
    (made / "x\n.ipynb").write_text(notebook())
    (made / r"x\n.ipynb").write_text(notebook())
    with open(os.path.join(os.fsencode(made), b"bad\xff.ipynb"), "w") as file:
        file.write(notebook())
    (tmp_path / "class.csv").write_text(ROSTER)
    return made


def run(folder: Path, out: str, shard: tuple[int, int] = (1, 1), **wish: object) -> Done:
    where = folder.parent / out
    made = {"jobs": 2, "shard": shard, "roster": folder.parent / "class.csv", "judge": JUDGE}
    return grade(Wish(folder, "02", where, **{**made, **wish}))  # type: ignore[arg-type]


def test_parts_joined_are_the_whole(folder: Path, tmp_path: Path) -> None:
    whole = run(folder, "whole")
    by_hand = "submission,exercise,points,comment\ns0,02.1,1.5,late\nempty,02.2,1,on paper\n"
    (tmp_path / "whole" / "overrides.csv").write_text(by_hand)
    run(folder, "whole")
    shares = [run(folder, f"part-{i}", (i, PARTS)) for i in range(1, PARTS + 1)]
    assert sum(len(s.sheet.entries) for s in shares) == len(whole.sheet.entries) == 16
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "overrides.csv").write_text(by_hand)
    parts = [tmp_path / f"part-{i}" for i in (3, 1, 2)]
    merge(parts, tmp_path / "out")
    assert results(tmp_path / "out") == results(tmp_path / "whole")
    # Again, and graded on from there: nothing is lost, nothing is graded a second time.
    merge(parts, tmp_path / "out")
    assert run(folder, "out").graded == 1  # the one that the grader failed at
    assert results(tmp_path / "out") == results(tmp_path / "whole")


def test_overrides_of_parts_count_and_those_of_the_whole_count_more(
    folder: Path, tmp_path: Path
) -> None:
    run(folder, "part-1", (1, 2))
    run(folder, "part-2", (2, 2))
    parts = [tmp_path / "part-1", tmp_path / "part-2"]
    (tmp_path / "out").mkdir()
    for out, points in ((parts[0], "0.25"), (parts[1], "0.5"), (tmp_path / "out", "0.75")):
        text = f"submission,exercise,points,comment\ns0,02.1,{points},\n"
        text += f"s1,02.1,{points},\n" if out in parts else ""
        (out / "overrides.csv").write_text(text)
    made = {e.grade.submission: e.grade for e in merge(parts, tmp_path / "out").entries}
    assert made["s0"].exercises[0].points == 0.75
    assert made["s1"].exercises[0].points == 0.5


def test_what_does_not_belong_together_is_refused(folder: Path, tmp_path: Path) -> None:
    for i in (1, 2):
        run(folder, f"part-{i}", (i, 3))
    parts = [tmp_path / "part-1", tmp_path / "part-2"]
    with pytest.raises(GradingError, match="parts 3/3 are missing"):
        merge(parts, tmp_path / "out")
    with pytest.raises(GradingError, match="is one of the parts"):
        merge(parts, parts[0])
    with pytest.raises(GradingError, match="holds no finished part"):
        merge([*parts, tmp_path / "part-3"], tmp_path / "out")
    run(folder, "half", (2, 2))
    with pytest.raises(GradingError, match="different divisions"):
        merge([*parts, tmp_path / "half"], tmp_path / "out")
    (tmp_path / "key").write_bytes(bytes(32))
    run(folder, "part-3", (3, 3), key=tmp_path / "key")
    with pytest.raises(GradingError, match="not graded with the same key"):
        merge([*parts, tmp_path / "part-3"], tmp_path / "out")
    run(folder, "part-3", (3, 3), mode="none")
    with pytest.raises(GradingError, match="not graded with the same sandbox"):
        merge([*parts, tmp_path / "part-3"], tmp_path / "out")
    run(folder, "part-3", (3, 3))
    next(Store(parts[0]).folder.glob("s*.json")).unlink()
    with pytest.raises(GradingError, match="has lost results/s"):
        merge([*parts, tmp_path / "part-3"], tmp_path / "out")


def test_parts_of_classes_that_overlap_are_refused(folder: Path, tmp_path: Path) -> None:
    run(folder, "one")
    hand_in(folder, "s0", note="changed")
    run(folder, "other")
    with pytest.raises(GradingError, match=r"'s0' is graded in .* and, differently, in"):
        merge([tmp_path / "one", tmp_path / "other"], tmp_path / "out")


def task(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """One task of the array, with a ./course that only prints its arguments."""
    course = tmp_path / "course"
    course.write_text('#!/bin/sh\necho "$@"\n')
    course.chmod(0o755)
    return subprocess.run(
        ["bash", ROOT / "cluster" / "grade.slurm", *arguments],
        env={"PATH": os.environ["PATH"], "SLURM_SUBMIT_DIR": str(tmp_path), **environment},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )


ARRAY = {"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_COUNT": "5", "SLURM_CPUS_PER_TASK": "8"}
ASKED = ("my class", "03", "parts", "grading.key", "--roster", "class list.csv")


@pytest.mark.real
def test_a_slurm_task_grades_its_part(tmp_path: Path) -> None:
    done = task(tmp_path, *ASKED, **ARRAY, SLURM_ARRAY_TASK_MIN="1", SLURM_ARRAY_TASK_MAX="5")
    assert done.stdout == (
        "grade my class --lesson 03 --out parts/part-2 --shard 2/5 --key grading.key --jobs 8 "
        "--roster class list.csv\n"
    ), done.stderr
    again = {**ARRAY, "SLURM_ARRAY_TASK_COUNT": "1", "PARTS_IN_ALL": "9"}
    assert "--shard 2/9" in task(tmp_path, *ASKED, **again).stdout


@pytest.mark.real
def test_a_slurm_task_says_what_it_lacks(tmp_path: Path) -> None:
    assert "Use: sbatch" in task(tmp_path, "folder", **ARRAY).stderr
    assert "one task of an array" in task(tmp_path, *ASKED).stderr
    odd = task(tmp_path, *ASKED, **ARRAY, SLURM_ARRAY_TASK_MIN="0", SLURM_ARRAY_TASK_MAX="4")
    assert odd.returncode == 2 and "The array is not 1-N" in odd.stderr
