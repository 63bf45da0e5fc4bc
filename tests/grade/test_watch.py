"""A folder that is watched while things happen in it, with a judge that does what it is told."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from fake_grader import FILE, hand_in, notebook, results
from fake_slots import Class

from helpers.grade.run import BROKEN, STILL, Run


def test_each_is_graded_when_it_comes_and_the_pages_show_it(a_class: Class) -> None:
    seen: list[tuple[set[str], int]] = []

    def look() -> None:
        page = next(a_class.out.glob("students/ann-*"))
        seen.append(({*a_class.totals}, page.stat().st_mtime_ns))

    a_class.hand_in("ann")()
    made = a_class.watch(
        ("ann: ", lambda: (look(), hand_in(a_class.folder, "bob"))),
        ("bob: ", lambda: (look(), hand_in(a_class.folder, "ann", note="Better now."))),
        ("ann: ", lambda: (look(), (a_class.folder / "ann").rename(a_class.folder / "anna"))),
        ("anna: ", lambda: shutil.rmtree(a_class.folder / "bob")),
    )
    assert [names for names, _ in seen] == [{"ann"}, {"ann", "bob"}, {"ann", "bob"}]
    assert seen[0][1] == seen[1][1] < seen[2][1]  # a page that would be the same is let be
    assert made.graded == 4 and a_class.gradings == {"ann": 2, "bob": 1, "anna": 1}
    assert "Better now." in a_class.said[2] and " of 15 points" in a_class.said[0]
    assert set(a_class.totals) == {"anna"}
    assert [p.name.partition("-")[0] for p in (a_class.out / "students").iterdir()] == ["anna"]


def test_it_leaves_what_grade_leaves_and_goes_on_from_there(a_class: Class) -> None:
    a_class.hand_in("ann", "bob", "carl", note="")()
    (a_class.folder / "emil").mkdir()
    (a_class.folder / "fred.ipynb").write_text("{")
    (a_class.folder / "gina.ipynb").symlink_to(a_class.folder / "ann" / FILE)
    hand_in(a_class.folder, "dies", do="die")
    hand_in(a_class.folder, "hans", do=["die", ""])
    a_class.watch(("hans: ", a_class.hand_in("ida")))
    watched = results(a_class.out)
    assert "emil: The folder holds no 02_messages.ipynb." in a_class.said
    assert {name: n for name, n in a_class.gradings.items() if n != 1} == {"hans": 2, "dies": 2}
    again = a_class.grade()
    assert (again.graded, again.cached) == (1, 6) and results(a_class.out) == watched
    a_class.grade(out=a_class.home / "whole")
    assert results(a_class.home / "whole") == watched
    a_class.watch()  # what was not judged twice is tried again by the next one
    assert "With a result from before: 6." in a_class.said
    assert a_class.gradings["ann"] == 2 and a_class.gradings["dies"] == 8


def test_what_waits_is_named_and_keeps_its_old_grade(a_class: Class) -> None:
    seen: list[dict[str, Any]] = []

    def look() -> None:
        seen.append(a_class.told)
        assert "not graded yet as it is now" in (a_class.out / "class.html").read_text()

    a_class.hand_in("ann")()
    later = a_class.hand_in("ann", "bob", "carl", sleep=20.0)
    a_class.watch(("ann: ", later), (": ", look), jobs=1)
    assert "ann" in {one["submission"] for one in seen[0]["submissions"]}
    assert len(seen[0]["waiting"]) == 2 and "waiting" not in a_class.told
    a_class.watch(mode="none")
    shown: list[int] = []
    a_class.watch((": ", lambda: shown.append(len(a_class.totals))), jobs=1)
    # A result of another way to grade is not shown.
    assert shown[0] == 1 and len(a_class.totals) == 3


@pytest.mark.parametrize(
    ("texts", "graded", "given"),
    [([notebook(note="new")], "new", 2), ([notebook(note="new"), ""], "old", 1)],
    ids=["changed", "there and back"],
)
def test_what_changes_while_it_is_graded(
    a_class: Class, texts: list[str], graded: str, given: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = a_class.home / "go"
    path = hand_in(a_class.folder, "ann", until=str(go), note="old")
    left = [text or path.read_text() for text in texts]

    def sleep(seconds: float) -> None:
        """Change it, each time after it was looked at, then let the judge answer."""
        a_class.clock.now += seconds
        if a_class.gradings and a_class.clock.now % 5 == 0:
            path.write_text(left.pop(0)) if left else go.touch()

    monkeypatch.setattr(a_class.clock, "sleep", sleep)
    made = a_class.watch(jobs=1)
    assert made.graded == 1 and a_class.gradings == {"ann": given}
    assert len(a_class.said) == 1 and graded in a_class.said[0]


def test_a_folder_that_goes_away_and_comes_back(a_class: Class) -> None:
    folder, away = a_class.folder, a_class.home / "away"
    pages: list[bytes] = []

    def note() -> None:
        pages.append((a_class.out / "grades.json").read_bytes())

    a_class.hand_in("ann")()
    a_class.watch(
        ("ann: ", lambda: folder.rename(away)),
        ("There is no folder", lambda: (note(), folder.mkdir())),
        ("All submissions are gone", lambda: (note(), folder.rmdir())),
        ("There is no folder", lambda: (away.rename(folder), a_class.hand_in("bob")())),
        ("in is taken up.", lambda: None),
        ("bob: ", lambda: None),
    )
    assert pages[0] == pages[1] and a_class.gradings == {"ann": 1, "bob": 1}
    assert len(a_class.said) == 6  # each trouble is said once


def test_overrides_and_the_class_list_are_taken_up(a_class: Class) -> None:
    roster, seen = a_class.home / "class.csv", list[float]()

    def note() -> None:
        seen.append(a_class.totals["ann"])

    roster.write_text("ann\nbob\n")
    a_class.hand_in("ann")()
    a_class.watch(("ann: ", lambda: roster.write_text("ann\nbob\ncarl\n")), roster=roster)
    assert set(a_class.totals) == {"ann", "bob", "carl"}
    rest = a_class.totals["ann"] - a_class.one("ann")["exercises"][0]["points"]
    a_class.overrides("ann,02.1,0.5,")
    a_class.hand_in("bob")()
    a_class.watch(
        ("bob: ", lambda: (a_class.overrides("ann,02.1,9,"), roster.unlink())),
        ("is not there; name a file with --roster. Until that is right", lambda: None),
        ("line 2: the points are '9'", a_class.hand_in("dora")),
        ("dora: ", lambda: (note(), a_class.overrides("ann,02.1,1.5,"))),
        ("overrides.csv is taken up", lambda: None),
        roster=roster,
    )
    note()
    assert seen == [pytest.approx(rest + 0.5), pytest.approx(rest + 1.5)]
    assert set(a_class.totals) == {"ann", "bob", "carl", "dora"}


# --- when a notebook is whole ---------------------------------------------------------------------

Coming = Callable[..., set[str]]


@pytest.fixture
def coming(a_class: Class) -> Coming:
    """Looks once a second for so long; the names of those that may still be written."""
    run = Run(a_class.wish(), a_class.said.append, watch=True)
    grading = run.grading

    def look(seconds: float) -> set[str]:
        for second in range(int(seconds) + 1):
            a_class.clock.sleep(1.0 if second else 0.0)
            grading.read_folder()
            grading.reckon(run.rests)
        wanted = {job.submission.id for job in grading.wanted}
        return {one.name for one, _ in grading.people if one.id in grading.waiting - wanted}

    return look


def test_a_notebook_is_taken_when_it_is_still(a_class: Class, coming: Coming) -> None:
    whole = notebook(note="x" * 100)
    path = hand_in(a_class.folder, "ann")
    for size in range(10, len(whole), 25):
        path.write_text(whole[:size])
        assert coming(1) == {"ann"}
    path.write_text(whole)
    assert coming(STILL - 1) == {"ann"} and coming(1) == set() == coming(60)


def test_what_is_no_notebook_yet_is_waited_for_longer(a_class: Class, coming: Coming) -> None:
    path, empty = hand_in(a_class.folder, "ann"), a_class.folder / "empty"
    whole = path.read_bytes()
    path.write_bytes(bytes(len(whole)))  # a place that is reserved first
    os.utime(path, (1, 1))
    for name, data in (("a", b"{"), ("b", b"[]"), ("c", b"\xff"), ("d", b"[" * 10**5)):
        (a_class.folder / f"{name}.ipynb").write_bytes(data)
    empty.mkdir()
    for name in (f"{FILE}.part", f".{FILE}.swp", f"{FILE}~", "02_messages.zip"):
        (a_class.folder / name).write_bytes(whole)
        (empty / name).write_bytes(whole)
    assert coming(BROKEN - 1) == {"ann", "a", "b", "c", "d", "empty"}
    path.write_bytes(whole)
    os.utime(path, (1, 1))
    assert coming(STILL - 1) == {"ann"} and coming(1) == set()
    (empty / f"{FILE}.part").replace(empty / FILE)
    assert coming(STILL - 1) == {"empty"} and coming(1) == set()
