"""Grading a folder with a judge that does what the notebooks say: cache, failures, overrides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_slots
import pytest
from fake_grader import FILE, JUDGE, hand_in, notebook, results
from fake_judge import UNJUDGED

from helpers.instructor.grading import GradingError, slots
from helpers.instructor.grading.run import Done, Wish, grade
from helpers.instructor.grading.store import HELPERS, PARTS, Store, deciding, grader_version

Grade = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three submissions that nothing is wrong with."""
    for name in ("ann", "bob", "carl"):
        hand_in(tmp_path / "submissions", name)
    return tmp_path / "submissions"


@pytest.fixture
def graded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Grade:
    """Grades the folder into OUT beside it, in this process."""
    fake_slots.install(monkeypatch)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent / "config"))
    monkeypatch.setenv("FAKE_JUDGE_LOG", str(folder.parent / "log"))
    version = "helpers.instructor.grading.run.grader_version"
    monkeypatch.setattr(version, lambda lesson, judge: "as it was")

    def run(**wish: Any) -> Done:
        made = {"folder": folder, "lesson": "02", "out": folder.parent / "out", "jobs": 2}
        return grade(Wish(**{**made, "judge": JUDGE, **wish}))

    return run


def totals(out: Path) -> dict[str, str]:
    lines = (out / "grades.csv").read_text().splitlines()[1:]
    return {line.split(",")[0]: line.split(",")[1] for line in lines}


def test_all_reports_are_there(graded: Grade, tmp_path: Path) -> None:
    done = graded()
    assert (done.graded, done.cached, done.failed) == (3, 0, [])
    names = set(results(tmp_path / "out"))
    assert {
        "grades.csv", "grades.json", "canvas.csv", "moodle.csv", "class.html", "overrides.csv"
    } < names  # fmt: skip
    for folder, end in (("results", ".json"), ("students", ".html"), ("gradescope", "")):
        assert len([n for n in names if n.startswith(f"{folder}/") and end in n]) == 3


def test_unchanged_submissions_come_from_the_cache(
    graded: Grade, folder: Path, tmp_path: Path
) -> None:
    graded()
    before = results(tmp_path / "out")
    assert (graded().graded, graded().cached) == (0, 3)
    assert results(tmp_path / "out") == before
    hand_in(folder, "bob", note="better")
    assert (graded().graded, results(tmp_path / "out") == before) == (1, False)
    hand_in(folder, "bob")
    graded()
    assert results(tmp_path / "out") == before


@pytest.mark.parametrize("changed", ["key", "mode", "version"])
def test_what_a_grade_depends_on_makes_it_new(
    graded: Grade, tmp_path: Path, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graded()
    (tmp_path / "key").write_bytes(bytes(range(32)))
    if changed == "version":
        where = "helpers.instructor.grading.run.grader_version"
        monkeypatch.setattr(where, lambda lesson, judge: "new")
    wish = {"key": {"key": tmp_path / "key"}, "mode": {"mode": "none"}, "version": {}}[changed]
    assert graded(**wish).graded == 3


def test_a_damaged_result_is_made_anew(graded: Grade, tmp_path: Path) -> None:
    graded()
    before = results(tmp_path / "out")
    stored = sorted((tmp_path / "out" / "results").iterdir())
    stored[0].write_bytes(stored[0].read_bytes()[:50])
    stored[1].write_text("[]")
    (stored[0].parent / ".x.json.tmp").write_text("half")
    assert graded().graded == 2
    assert results(tmp_path / "out") == before


def test_the_version_is_of_all_that_decides(tmp_path: Path) -> None:
    assert grader_version("02", JUDGE) != grader_version("03", JUDGE)
    assert grader_version("02", JUDGE) != grader_version("02", "helpers.cli:Judge")
    assert grader_version("02", JUDGE) == grader_version("02", JUDGE)


def test_grades_depend_on_the_lessons_own_exercises_and_on_what_judges_them() -> None:
    files = {path.relative_to(HELPERS).as_posix() for path in deciding("02")}
    assert all(any(f"{path}/".startswith(f"{part}/") for path in files) for part in PARTS), PARTS
    assert {"lessons/messages/exercises/scatter.py", "checks/spec.py", "engine/virtual.py"} <= files
    assert "lessons/pipelines/algorithms/schedules.py" in files  # what a sandbox may be given
    assert "lessons/pipelines/exercises/run_stage.py" not in files


@pytest.mark.parametrize("order", ["die", "raise"])
def test_where_the_grader_fails_the_rest_goes_on(
    graded: Grade, folder: Path, tmp_path: Path, order: str
) -> None:
    graded()
    before = totals(tmp_path / "out")
    hand_in(folder, "dora", do=order)
    done = graded()
    assert done.failed == ["dora"]
    assert totals(tmp_path / "out") == before | {"dora": "0"}
    dora = next(e for e in done.sheet.entries if e.grade.submission == "dora")
    assert {one.outcome for one in dora.grade.exercises} == {"not judged"}
    assert not any(b"hidden input" in data for data in results(tmp_path / "out").values())
    assert "says nothing about the answers" in dora.grade.note
    # It was tried twice, and is tried again the next time.
    assert (tmp_path / "log").read_text().count("/dora/") == 2
    assert (graded().graded, graded().cached) == (1, 3)


def test_a_slot_that_dies_once_costs_nothing(graded: Grade, folder: Path, tmp_path: Path) -> None:
    path = hand_in(folder, "dora", do="die once")
    assert graded().failed == []
    assert path.with_suffix(".done").exists()
    assert int(totals(tmp_path / "out")["dora"]) >= 0


def not_judged(done: Done) -> dict[str, tuple[str, ...]]:
    return {one.grade.submission: one.grade.not_judged for one in done.sheet.not_judged}


def test_what_is_not_judged_is_asked_again_alone(
    graded: Grade, folder: Path, tmp_path: Path
) -> None:
    hand_in(folder, "aaron", do="unjudged once")
    assert not_judged(graded()) == {}
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert lines[-1][1].count("/aaron/") == 1 and len(lines) == 5
    assert lines[-1][0] not in {slot for slot, _ in lines[:-1]}  # a slot of its own
    assert (graded().graded, graded().cached) == (0, 4)


def test_what_is_not_judged_twice_is_left_to_a_person(
    graded: Grade, folder: Path, tmp_path: Path
) -> None:
    out, overrides = tmp_path / "out", tmp_path / "out" / "overrides.csv"
    hand_in(folder, "dora", do="unjudged")
    done = graded()
    assert (done.failed, not_judged(done)) == ([], {"dora": (UNJUDGED,)})
    assert (tmp_path / "log").read_text().count("/dora/") == 2
    assert "not judged" in (out / "grades.csv").read_text().splitlines()[-1]
    overrides.write_text(f"submission,exercise,points,comment\ndora,{UNJUDGED},1.5,seen\n")
    done = graded()
    assert (done.graded, done.cached) == (1, 3)  # it is asked again as long as it is not judged
    (dora,) = [one for one in done.sheet.entries if one.grade.submission == "dora"]
    by_hand = next(one for one in dora.grade.exercises if one.number == UNJUDGED)
    assert (by_hand.outcome, by_hand.points, not_judged(done)) == ("by hand", 1.5, {})
    assert "not judged" not in (out / "class.html").read_text()


@pytest.mark.parametrize("orders", [("unjudged once", "die"), ("die once", "unjudged")])
def test_of_two_tries_the_one_that_judged_something_counts(
    graded: Grade, folder: Path, orders: tuple[str, str]
) -> None:
    hand_in(folder, "dora", do=orders[0], then=orders[1])
    done = graded()
    assert (done.failed, not_judged(done)) == ([], {"dora": (UNJUDGED,)})


def test_a_slot_that_hangs_is_ended(graded: Grade, folder: Path, tmp_path: Path) -> None:
    hand_in(folder, "dora", sleep=slots.PATIENCE + 60)
    assert graded().failed == ["dora"]
    assert len(totals(tmp_path / "out")) == 4


@pytest.mark.parametrize(
    ("how", "said"), [("unable", "The sandbox is on strike"), ("stillborn", "end at once")]
)
def test_slots_that_cannot_start_are_told(
    graded: Grade, how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_JUDGE", how)
    with pytest.raises(GradingError, match=said):
        graded()


def test_what_cannot_be_read_is_missing_and_says_why(
    graded: Grade, folder: Path, tmp_path: Path
) -> None:
    (folder / "dora").mkdir()
    (folder / "emil.ipynb").symlink_to(folder / "ann" / FILE)
    done = graded()
    entries = {e.grade.submission: e for e in done.sheet.entries}
    for name, why in (("dora", "holds no 02_messages.ipynb"), ("emil", "symbolic link")):
        assert {one.outcome for one in entries[name].grade.exercises} == {"missing"}
        assert why in entries[name].grade.note
        assert why in (tmp_path / "out" / "class.html").read_text()
    assert done.graded == 3


def test_overrides_stay(graded: Grade, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    graded()
    was = next(e for e in graded().sheet.entries if e.grade.submission == "ann").grade
    written = (
        "submission,exercise,points,comment\n"
        'ann,2.1,0.5,so so\nann,02.1,1.5,"well <argued>, ann"\nbob,02.2,1,\n'
    )
    (out / "overrides.csv").write_text(written)
    for order in ({}, {"note": "handed in again"}):
        hand_in(folder, "ann", **order)
        done = graded()
        ann = next(e for e in done.sheet.entries if e.grade.submission == "ann")
        assert ann.grade.exercises[0].points == 1.5
        assert ann.overrides[0].was == was.exercises[0].points
        assert float(totals(out)["ann"]) == was.total - was.exercises[0].points + 1.5
        page = (out / "students" / f"{ann.id}.html").read_text()
        assert "Points set by your instructor" in page and "well &lt;argued&gt;, ann" in page
    assert (out / "overrides.csv").read_text() == written


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("dora,02.1,1,", "line 3: there is no submission 'dora'"),
        ("ann,07.1,1,", "line 3: there is no exercise '07.1'; there are 02.1"),
        ("ann,02.1,100,", "line 3: the points are '100', but exercise 02.1 gives 0 to 2"),
        ("ann,02.1,nan,", "line 3: the points are 'nan'"),
        ("ann,02.1,-1,", "line 3: the points are '-1'"),
        ("ann,02.1,many,", "line 3: the points are 'many'"),
        ("ann,02.1", "line 3: it needs submission, exercise, points"),
    ],
)
def test_a_bad_override_stops_before_grading(
    graded: Grade, tmp_path: Path, line: str, said: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "overrides.csv").write_text(f"submission,exercise,points,comment\nann,02.1,1,\n{line}\n")
    with pytest.raises(GradingError, match=said.replace("(", r"\(")):
        graded()
    assert not (tmp_path / "log").exists()


def test_folders_inside_one_another_are_refused(graded: Grade, folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    for out in (folder, folder / "out", folder.parent, folder.parent / "link" / "out"):
        with pytest.raises(GradingError, match="must not lie in one another"):
            graded(out=out)
    with pytest.raises(GradingError, match="There is no folder"):
        graded(folder=folder / "nowhere")
    (folder.parent / "file").write_text("")
    with pytest.raises(GradingError, match="is not a folder"):
        graded(out=folder.parent / "file")


def test_another_lessons_grades_are_not_mixed_in(graded: Grade, folder: Path) -> None:
    graded()
    (folder / "ann" / "03_data_parallelism.ipynb").write_text(notebook())
    with pytest.raises(GradingError, match="holds the grades of lesson 02"):
        graded(lesson="03")


def test_pages_of_those_who_left_go(graded: Grade, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    graded()
    (out / "students" / "my notes.txt").write_text("keep")
    (folder / "bob" / FILE).unlink()
    (folder / "bob").rmdir()
    graded()
    assert [p.name.partition("-")[0] for p in sorted((out / "students").iterdir())] == [
        "ann", "carl", "my notes.txt"
    ]  # fmt: skip
    assert len(list((out / "gradescope").iterdir())) == 2
    assert len(list(Store(out).folder.iterdir())) == 3  # the result stays, should bob come back


def test_without_a_sandbox_everything_says_so(graded: Grade, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = graded(mode="none")
    assert "Not sandboxed" in (out / "NOT_SANDBOXED.txt").read_text()
    for page in (*out.rglob("*.html"),):
        assert 'class="stamp"' in page.read_text(), page
    assert json.loads((out / "grades.json").read_text())["warning"] == done.sheet.stamp
    for told in out.glob("gradescope/*/results.json"):
        data = json.loads(told.read_text())
        assert data["extra_data"]["warning"] == done.sheet.stamp
        assert done.sheet.stamp in data["output"]
    for told in out.glob("results/*.json"):
        assert json.loads(told.read_text())["grade"]["sandbox"] == "none"
    assert (out / "moodle.csv").read_text().count("Not sandboxed") == 3
    assert (out / "grades.csv").read_text().startswith("submission,total,max,02.1")
    graded()
    assert not (out / "NOT_SANDBOXED.txt").exists()
    assert 'class="stamp"' not in (out / "class.html").read_text()
