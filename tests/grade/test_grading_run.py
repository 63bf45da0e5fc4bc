"""Grading a folder with a judge that does what the notebooks say: cache, failures, overrides."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_slots
import pytest
from fake_grader import FILE, JUDGE, UNJUDGED, calls, hand_in, notebook, results

from helpers.grade import slots
from helpers.grade.files import owned
from helpers.grade.grading import FAILED, Grading, grader_version
from helpers.grade.report.sheet import Entry
from helpers.grade.run import grade
from helpers.grade.wish import GradingError, Wish

Grade = Callable[..., Grading]
VERSION = "helpers.grade.grading.grader_version"
HEAD = "submission,exercise,points,comment\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three submissions that nothing is wrong with."""
    for name in ("ann", "bob", "carl"):
        hand_in(tmp_path / "submissions", name)
    return tmp_path / "submissions"


@pytest.fixture
def graded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Grade:
    """Grades the folder into OUT beside it, in this process."""
    fake_slots.install(monkeypatch, folder.parent)

    def run(**wish: Any) -> Grading:
        made = {"folder": folder, "lesson": "02", "out": folder.parent / "out", "jobs": 2}
        return grade(Wish(**{**made, "judge": JUDGE, **wish}), print)

    return run


def totals(out: Path) -> dict[str, str]:
    lines = (out / "grades.csv").read_text().splitlines()[1:]
    return {line.split(",")[0]: line.split(",")[1] for line in lines}


def entry(done: Grading, name: str) -> Entry:
    return next(one for one in done.sheet().entries if one.grade.submission == name)


def test_all_reports_are_there_and_what_is_unchanged_comes_from_the_cache(
    graded: Grade, folder: Path, tmp_path: Path
) -> None:
    done = graded()
    assert (done.graded, done.cached) == (3, 0)
    before = results(tmp_path / "out")
    assert {
        "grades.csv", "grades.json", "canvas.csv", "moodle.csv", "class.html", "overrides.csv"
    } < set(before)  # fmt: skip
    for where, end in (("results", ".json"), ("students", ".html"), ("gradescope", "")):
        assert len([n for n in before if n.startswith(f"{where}/") and end in n]) == 3
    again = graded()
    assert (again.graded, again.cached) == (0, 3) and results(tmp_path / "out") == before
    hand_in(folder, "bob", note="better")
    assert (graded().graded, results(tmp_path / "out") == before) == (1, False)
    hand_in(folder, "bob")
    stored = sorted((tmp_path / "out" / "results").glob("[ac]*"))
    stored[0].write_bytes(stored[0].read_bytes()[:50])
    stored[1].write_text("[]")
    assert graded().graded == 3 and results(tmp_path / "out") == before


@pytest.mark.parametrize("changed", ["key", "mode", "version"])
def test_what_a_grade_depends_on_makes_it_new(
    graded: Grade, tmp_path: Path, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graded()
    (tmp_path / "key").write_bytes(bytes(range(32)))
    if changed == "version":
        monkeypatch.setattr(VERSION, lambda wish: "new")
    wishes = {"key": tmp_path / "key", "mode": "none"}
    assert graded(**({changed: wishes[changed]} if changed in wishes else {})).graded == 3


def test_the_version_is_of_all_that_may_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helpers.grade.grading.HELPERS", tmp_path)
    wish = Wish(tmp_path, "02", tmp_path, 1)
    wishes = [wish, *(replace(wish, **{n: "x"}) for n in ("lesson", "judge", "mistakes"))]
    seen = [grader_version(one) for one in wishes]
    for text in ("", "pass"):
        (tmp_path / "judge.py").write_text(text)
        seen.append(grader_version(wish))
    assert len({*seen}) == 6 and grader_version(wish) == seen[-1]


@pytest.mark.parametrize(
    "order", [{"do": "die"}, {"do": "raise"}, {"sleep": slots.PATIENCE + 60}], ids=str
)
def test_where_the_grader_fails_the_rest_goes_on(
    graded: Grade, folder: Path, tmp_path: Path, order: dict[str, Any]
) -> None:
    graded()
    before = totals(tmp_path / "out")
    hand_in(folder, "dora", **order)
    done = graded()
    assert totals(tmp_path / "out") == before | {"dora": "0"}
    dora = entry(done, "dora").grade
    assert {*dora.outcomes} == {"not judged"} and dora.note == FAILED
    assert not any(b"hidden input" in data for data in results(tmp_path / "out").values())
    # It was tried twice, and is tried again the next time.
    assert [name for _, name in calls(tmp_path / "log")].count("dora") == 2
    again = graded()
    assert (again.graded, again.cached) == (1, 3)


@pytest.mark.parametrize(
    ("orders", "open_"),
    [
        (["die", ""], ()),
        (["unjudged", ""], ()),
        (["unjudged", "unjudged"], (UNJUDGED,)),
        (["unjudged", "die"], (UNJUDGED,)),
        (["die", "unjudged"], (UNJUDGED,)),
    ],
)
def test_what_is_not_judged_is_asked_again_alone(
    graded: Grade, folder: Path, tmp_path: Path, orders: list[str], open_: tuple[str, ...]
) -> None:
    hand_in(folder, "aaron", do=orders)
    done = graded()
    assert entry(done, "aaron").grade.not_judged == open_
    called = calls(tmp_path / "log")
    assert len(called) == 5 and called[-1][1] == "aaron"
    assert called[-1][0] not in {slot for slot, _ in called[:-1]}  # a slot of its own
    again = graded()
    assert (again.graded, again.cached) == (len(open_), 4 - len(open_))


def test_what_is_not_judged_twice_is_left_to_a_person(
    graded: Grade, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    hand_in(folder, "dora", do="unjudged")
    graded()
    assert "not judged" in (out / "grades.csv").read_text().splitlines()[-1]
    (out / "overrides.csv").write_text(f"{HEAD}dora,{UNJUDGED},1.5,seen\n")
    done = graded()
    by_hand = next(e for e in entry(done, "dora").grade.exercises if e.number == UNJUDGED)
    assert (by_hand.outcome, by_hand.points, done.sheet().not_judged) == ("by hand", 1.5, ())
    assert "not judged" not in (out / "class.html").read_text()


@pytest.mark.parametrize(
    ("how", "said"), [("unable", "The sandbox is on strike"), ("stillborn", "end at once")]
)
def test_slots_that_cannot_start_are_told(
    graded: Grade, how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_JUDGE", how)
    with pytest.raises(GradingError, match=said):
        graded()


def test_overrides_stay(graded: Grade, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    was = entry(graded(), "ann").grade
    written = f'{HEAD}ann,2.1,0.5,so so\nann,02.1,1.5,"well <argued>, ann"\nbob,02.2,1,\n'
    (out / "overrides.csv").write_text(written)
    for order in ({}, {"note": "handed in again"}):
        hand_in(folder, "ann", **order)
        ann = entry(graded(), "ann")
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
        ("ann,02.1", "line 3: it needs submission, exercise, points"),
    ],
)
def test_a_bad_override_stops_before_grading(
    graded: Grade, tmp_path: Path, line: str, said: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "overrides.csv").write_text(f"{HEAD}ann,02.1,1,\n{line}\n")
    with pytest.raises(GradingError, match=said):
        graded()
    assert calls(tmp_path / "log") == []


def test_folders_that_do_not_fit_are_refused(graded: Grade, folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    for out in (folder, folder / "out", folder.parent, folder.parent / "link" / "out"):
        with pytest.raises(GradingError, match="must not lie in one another"):
            graded(out=out)
    with pytest.raises(GradingError, match="There is no folder"):
        graded(folder=folder / "nowhere")
    (folder.parent / "file").write_text("")
    with pytest.raises(GradingError, match="is not a folder"):
        graded(out=folder.parent / "file")
    (folder.parent / "empty").mkdir()
    with pytest.raises(GradingError, match="holds no submissions"):
        graded(folder=folder.parent / "empty")
    graded()
    (folder / "ann" / "03_data_parallelism.ipynb").write_text(notebook())
    with pytest.raises(GradingError, match="holds the grades of lesson 02"):
        graded(lesson="03")


def test_pages_of_those_who_left_go(graded: Grade, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    graded()
    (out / "students" / "my notes.txt").write_text("keep")
    (folder / "bob" / FILE).unlink()
    bob = entry(graded(), "bob").grade
    assert {*bob.outcomes} == {"missing"} and "holds no 02_messages.ipynb" in bob.note
    assert bob.note in (out / "class.html").read_text()
    (folder / "bob").rmdir()
    graded()
    assert [p.name.partition("-")[0] for p in sorted((out / "students").iterdir())] == [
        "ann", "carl", "my notes.txt"
    ]  # fmt: skip
    assert len(list((out / "gradescope").iterdir())) == 2
    assert len(list((out / "results").iterdir())) == 3  # the result stays, should bob come back


def test_parts_joined_are_the_whole(graded: Grade, folder: Path, tmp_path: Path) -> None:
    """Several graders share one OUT, or results are copied into one."""
    for i in range(8):
        hand_in(folder, f"s{i}")
    (folder / "empty").mkdir()
    graded(out=tmp_path / "whole")
    with owned(tmp_path / "out", shared=True):  # by a grader of another part
        parts = [graded(shard=(i, 3)) for i in (3, 1, 2)]
        with pytest.raises(GradingError, match="Another grader is at work"):
            graded()
    assert sum(part.graded for part in parts) == 11 and all(part.graded for part in parts)
    assert not (tmp_path / "out" / "grades.json").exists()
    whole = graded()
    assert (whole.graded, whole.cached) == (0, 11)
    assert results(tmp_path / "out") == results(tmp_path / "whole")
    # Where one goes does not depend on others.
    hand_in(folder, "late")
    assert sum(graded(shard=(i, 3)).graded for i in (1, 2, 3)) == 1


def test_without_a_sandbox_everything_says_so(graded: Grade, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = graded(mode="none")
    assert "Not sandboxed" in (out / "NOT_SANDBOXED.txt").read_text()
    assert all('class="stamp"' in page.read_text() for page in out.rglob("*.html"))
    assert json.loads((out / "grades.json").read_text())["warning"] == done.sheet().stamp
    for told in out.glob("gradescope/*/results.json"):
        data = json.loads(told.read_text())
        assert data["extra_data"]["warning"] == done.sheet().stamp
        assert done.sheet().stamp in data["output"]
    assert (out / "moodle.csv").read_text().count("Not sandboxed") == 3
    graded()
    assert not (out / "NOT_SANDBOXED.txt").exists()
    assert 'class="stamp"' not in (out / "class.html").read_text()
