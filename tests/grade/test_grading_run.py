"""Grading a folder with a judge that does what the notebooks say: cache, failures, overrides."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_grader import FILE, JUDGE, UNJUDGED, calls, hand_in, notebook, results
from fake_slots import Class

from helpers.grade import slots
from helpers.grade.files import owned
from helpers.grade.grading import FAILED, grader_version
from helpers.grade.wish import GradingError, Wish


@pytest.fixture
def three(a_class: Class) -> Class:
    """Three submissions that nothing is wrong with."""
    a_class.hand_in("ann", "bob", "carl")()
    return a_class


def test_all_reports_are_there_and_what_is_unchanged_is_not_graded_again(three: Class) -> None:
    done = three.grade()
    assert (done.graded, done.cached) == (3, 0)
    before = results(three.out)
    assert {
        "grades.csv", "grades.json", "canvas.csv", "moodle.csv", "class.html", "overrides.csv"
    } < set(before)  # fmt: skip
    for where, end in (("results", ".json"), ("students", ".html"), ("gradescope", "")):
        assert len([n for n in before if n.startswith(f"{where}/") and end in n]) == 3
    again = three.grade()
    assert (again.graded, again.cached) == (0, 3) and results(three.out) == before
    three.hand_in("bob", note="better")()
    assert (three.grade().graded, results(three.out) == before) == (1, False)
    three.hand_in("bob")()
    stored = sorted((three.out / "results").glob("[ac]*"))
    stored[0].write_bytes(stored[0].read_bytes()[:50])
    stored[1].write_text("[]")
    assert three.grade().graded == 3 and results(three.out) == before


@pytest.mark.parametrize("changed", ["key", "mode", "version"])
def test_what_a_grade_depends_on_makes_it_new(
    three: Class, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    three.grade()
    key = three.home / "key"
    key.write_bytes(bytes(range(32)))
    if changed == "version":
        monkeypatch.setattr("helpers.grade.grading.grader_version", lambda wish: "new")
    wishes = {"key": {"key": key}, "mode": {"mode": "none"}}
    assert three.grade(**wishes.get(changed, {})).graded == 3


def test_the_version_is_of_all_that_may_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helpers.grade.grading.HELPERS", tmp_path)
    wish = Wish(tmp_path, "02", tmp_path, 1, judge=JUDGE)
    wishes = [wish, *(replace(wish, **{n: "x"}) for n in ("lesson", "judge", "mistakes"))]
    seen = [grader_version(one) for one in wishes]
    for text in ("", "pass"):
        (tmp_path / "judge.py").write_text(text)
        seen.append(grader_version(wish))
    assert len({*seen}) == 6 and grader_version(wish) == seen[-1]


@pytest.mark.parametrize(
    ("orders", "open_"),
    [
        ({"do": "die"}, "all"),
        ({"do": "raise"}, "all"),
        ({"sleep": slots.PATIENCE + 60}, "all"),
        ({"do": ["die", ""]}, ""),
        ({"do": ["unjudged", ""]}, ""),
        ({"do": ["unjudged", "unjudged"]}, UNJUDGED),
        ({"do": ["unjudged", "die"]}, UNJUDGED),
        ({"do": ["die", "unjudged"]}, UNJUDGED),
    ],
    ids=str,
)
def test_where_the_grader_fails_it_is_tried_again_alone_and_the_rest_goes_on(
    three: Class, orders: dict[str, Any], open_: str
) -> None:
    three.grade()
    before = three.totals
    three.hand_in("aaron", "zoe", **orders)()
    (three.folder / "zoe" / FILE).write_text(notebook())
    done = three.grade()
    assert done.graded == 2 and three.totals.items() > before.items()
    aaron = three.one("aaron")
    unjudged = [e["number"] for e in aaron["exercises"] if e["outcome"] == "not judged"]
    assert len(unjudged) == 5 if open_ == "all" else unjudged == [one for one in [open_] if one]
    assert (aaron["note"] == FAILED) == (open_ == "all")
    assert not any(b"hidden input" in data for data in results(three.out).values())
    called = calls(three.home / "log")[3:]
    assert called[-1][1] == "aaron" and three.gradings["aaron"] == 2
    assert called[-1][0] not in {slot for slot, _ in called[:-1]}  # a slot of its own
    again = three.grade()  # it is tried again the next time
    assert (again.graded, again.cached) == ((1, 4) if open_ else (0, 5))


def test_what_is_not_judged_twice_is_left_to_a_person(three: Class) -> None:
    three.hand_in("dora", do="unjudged")()
    three.grade()
    assert "not judged" in (three.out / "grades.csv").read_text().splitlines()[-1]
    three.overrides(f"dora,{UNJUDGED},1.5,seen")
    done = three.grade()
    by_hand = next(e for e in three.one("dora")["exercises"] if e["number"] == UNJUDGED)
    assert (by_hand["outcome"], by_hand["points"]) == ("by hand", 1.5)
    assert done.sheet().not_judged == ()
    assert "not judged" not in (three.out / "class.html").read_text()


@pytest.mark.parametrize(
    ("how", "said"), [("unable", "The sandbox is on strike"), ("stillborn", "end at once")]
)
def test_slots_that_cannot_start_are_told(
    three: Class, how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_JUDGE", how)
    with pytest.raises(GradingError, match=said):
        three.grade()


def test_overrides_stay(three: Class) -> None:
    three.grade()
    was, total = three.one("ann")["exercises"][0]["points"], three.totals["ann"]
    three.overrides("ann,2.1,0.5,so so", 'ann,02.1,1.5,"well <argued>, ann"', "bob,02.2,1,")
    written = (three.out / "overrides.csv").read_text()
    for order in ({}, {"note": "handed in again"}):
        three.hand_in("ann", **order)()
        three.grade()
        ann = three.one("ann")
        assert (ann["exercises"][0]["points"], ann["overrides"][0]["was"]) == (1.5, was)
        assert three.totals["ann"] == total - was + 1.5
        page = (three.out / "students" / f"{ann['id']}.html").read_text()
        assert "Points set by your instructor" in page and "well &lt;argued&gt;, ann" in page
    assert (three.out / "overrides.csv").read_text() == written


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
def test_a_bad_override_stops_before_grading(three: Class, line: str, said: str) -> None:
    three.out.mkdir()
    three.overrides("ann,02.1,1,", line)
    with pytest.raises(GradingError, match=said):
        three.grade()
    assert not three.gradings


def test_folders_that_do_not_fit_are_refused(three: Class) -> None:
    folder, home = three.folder, three.home
    (home / "link").symlink_to(folder)
    (home / "file").write_text("")
    (home / "empty").mkdir()
    inside = [folder, folder / "out", home, home / "link" / "out"]
    for wish, said in (
        *(({"out": out}, "must not lie in one another") for out in inside),
        ({"folder": folder / "nowhere"}, "There is no folder"),
        ({"out": home / "file"}, "is not a folder"),
        ({"folder": home / "empty"}, "holds no submissions"),
        ({"roster": home / "none.csv"}, "The class list"),
    ):
        with pytest.raises(GradingError, match=said):
            three.grade(**wish)
    three.grade()
    (folder / "ann" / "03_data_parallelism.ipynb").write_text(notebook())
    with pytest.raises(GradingError, match="holds the grades of lesson 02"):
        three.grade(lesson="03")


def test_pages_of_those_who_left_go(three: Class) -> None:
    three.grade()
    (three.out / "students" / "my notes.txt").write_text("keep")
    (three.folder / "bob" / FILE).unlink()
    three.grade()
    bob = three.one("bob")
    assert {e["outcome"] for e in bob["exercises"]} == {"missing"}
    assert "holds no 02_messages.ipynb" in bob["note"]
    assert bob["note"] in (three.out / "class.html").read_text()
    (three.folder / "bob").rmdir()
    three.grade()
    assert [p.name.partition("-")[0] for p in sorted((three.out / "students").iterdir())] == [
        "ann", "carl", "my notes.txt"
    ]  # fmt: skip
    assert len(list((three.out / "gradescope").iterdir())) == 2
    assert len(list((three.out / "results").iterdir())) == 3  # should bob come back


def test_parts_joined_are_the_whole(three: Class) -> None:
    """Several graders share one OUT, or results are copied into one."""
    three.hand_in(*(f"s{i}" for i in range(8)))()
    (three.folder / "empty").mkdir()
    three.grade(out=three.home / "whole")
    with owned(three.out, shared=True):  # by a grader of another part
        parts = [three.grade(shard=(i, 3)) for i in (3, 1, 2)]
        with pytest.raises(GradingError, match="Another grader is at work"):
            three.grade()
    assert sum(part.graded for part in parts) == 11 and all(part.graded for part in parts)
    assert not (three.out / "grades.json").exists()
    whole = three.grade()
    assert (whole.graded, whole.cached) == (0, 11)
    assert results(three.out) == results(three.home / "whole")
    # Where one goes does not depend on others.
    hand_in(three.folder, "late")
    assert sum(three.grade(shard=(i, 3)).graded for i in (1, 2, 3)) == 1


def test_without_a_sandbox_everything_says_so(three: Class) -> None:
    out, stamp = three.out, three.grade(mode="none").sheet().stamp
    assert "Not sandboxed" in (out / "NOT_SANDBOXED.txt").read_text()
    assert all('class="stamp"' in page.read_text() for page in out.rglob("*.html"))
    assert three.told["warning"] == stamp
    for told in out.glob("gradescope/*/results.json"):
        data = json.loads(told.read_text())
        assert data["extra_data"]["warning"] == stamp and stamp in data["output"]
    assert (out / "moodle.csv").read_text().count("Not sandboxed") == 3
    three.grade()
    assert not (out / "NOT_SANDBOXED.txt").exists()
    assert 'class="stamp"' not in (out / "class.html").read_text()
