"""A folder that is watched while things happen in it, with a judge that does what it is told."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_slots
import pytest
from fake_grader import FILE, JUDGE, calls, hand_in, notebook, results

from helpers.grade.grading import Grading
from helpers.grade.run import BROKEN, STILL, Run, grade
from helpers.grade.wish import GradingError, Wish

HEAD = "submission,exercise,points,comment\n"
Step = tuple[str, Callable[[], object]]


class Script:
    """A watch on a folder. After a line that holds a step's text comes what the step does.

    said: the lines.
    """

    def __init__(self, home: Path, clock: fake_slots.Clock) -> None:
        self.clock, self.home, self.folder, self.out = clock, home, home / "in", home / "out"
        self.said: list[str] = []

    def run(self, *steps: Step, **wish: Any) -> Grading:
        """Watch until nothing is new any more; every step has to be reached."""
        left = list(steps)

        def say(line: str) -> None:
            self.said.append(line)
            if left and left[0][0] in line:
                left.pop(0)[1]()

        made = grade(self.wish(**wish), say, watch=True, until_idle=30.0)
        assert left == [], self.said
        return made

    def wish(self, **wish: Any) -> Wish:
        asked = {"folder": self.folder, "lesson": "02", "out": self.out, "jobs": 2, "judge": JUDGE}
        return Wish(**{**asked, **wish})

    def hand_in(self, *names: str, **order: Any) -> Callable[[], object]:
        """A step that hands in these."""
        return lambda: [hand_in(self.folder, name, **order) for name in names]

    @property
    def told(self) -> Any:
        return json.loads((self.out / "grades.json").read_bytes())

    @property
    def totals(self) -> dict[str, float]:
        return {one["submission"]: one["total"] for one in self.told["submissions"]}

    @property
    def gradings(self) -> Counter[str]:
        """How often the judge was given each submission."""
        return Counter(name for _, name in calls(self.home / "log"))


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    (tmp_path / "in").mkdir()
    return Script(tmp_path, fake_slots.install(monkeypatch, tmp_path))


def test_each_is_graded_when_it_comes_and_the_pages_show_it(script: Script) -> None:
    seen: list[tuple[set[str], int]] = []

    def look() -> None:
        page = next(script.out.glob("students/ann-*"))
        seen.append(({*script.totals}, page.stat().st_mtime_ns))

    script.hand_in("ann")()
    made = script.run(
        ("ann: ", lambda: (look(), hand_in(script.folder, "bob"))),
        ("bob: ", lambda: (look(), hand_in(script.folder, "ann", note="Better now."))),
        ("ann: ", lambda: (look(), (script.folder / "ann").rename(script.folder / "anna"))),
        ("anna: ", lambda: shutil.rmtree(script.folder / "bob")),
    )
    assert [names for names, _ in seen] == [{"ann"}, {"ann", "bob"}, {"ann", "bob"}]
    assert seen[0][1] == seen[1][1] < seen[2][1]  # a page that would be the same is let be
    assert made.graded == 4 and script.gradings == {"ann": 2, "bob": 1, "anna": 1}
    assert "Better now." in script.said[2] and " of 15 points" in script.said[0]
    assert set(script.totals) == {"anna"}
    assert [p.name.partition("-")[0] for p in (script.out / "students").iterdir()] == ["anna"]


def test_it_leaves_what_grade_leaves(script: Script) -> None:
    script.hand_in("ann", "bob", "carl", note="")()
    (script.folder / "emil").mkdir()
    (script.folder / "fred.ipynb").write_text("{")
    (script.folder / "gina.ipynb").symlink_to(script.folder / "ann" / FILE)
    hand_in(script.folder, "dies", do="die")
    hand_in(script.folder, "hans", do=["die", ""])
    script.run(("hans: ", script.hand_in("ida")))
    watched = results(script.out)
    assert "emil: The folder holds no 02_messages.ipynb." in script.said
    assert {name: n for name, n in script.gradings.items() if n != 1} == {"hans": 2, "dies": 2}
    again = grade(script.wish(), print)
    assert (again.graded, again.cached) == (1, 6) and results(script.out) == watched
    grade(script.wish(out=script.home / "whole"), print)
    assert results(script.home / "whole") == watched


def test_a_restart_grades_nothing_twice(script: Script) -> None:
    hand_in(script.folder, "never", do="unjudged")
    script.hand_in("ann", "bob")()
    script.run()
    before = results(script.out)
    script.hand_in("bob", note="while nobody looked")()
    script.hand_in("carl")()
    script.run()
    assert "With a result from before: 1." in script.said
    # What was not judged twice is tried again by the next watch, as grade does.
    assert script.gradings == {"ann": 1, "bob": 2, "carl": 1, "never": 4}
    script.hand_in("bob")()
    shutil.rmtree(script.folder / "carl")
    script.run()
    after = results(script.out)
    assert {n: d for n, d in after.items() if not n.startswith("results/carl-")} == before


def test_what_waits_is_named_and_keeps_its_old_grade(script: Script) -> None:
    seen: list[dict[str, Any]] = []

    def look() -> None:
        seen.append(script.told)
        assert "not graded yet as it is now" in (script.out / "class.html").read_text()

    script.hand_in("ann")()
    script.run(("ann: ", script.hand_in("ann", "bob", "carl", sleep=20.0)), (": ", look), jobs=1)
    assert "ann" in {one["submission"] for one in seen[0]["submissions"]}
    assert len(seen[0]["waiting"]) == 2
    assert "waiting" not in script.told
    script.run(mode="none")
    shown: list[int] = []
    script.run((": ", lambda: shown.append(len(script.totals))), jobs=1)
    assert (
        shown[0] == 1 and len(script.totals) == 3
    )  # a result of another way to grade is not shown


@pytest.mark.parametrize(
    ("texts", "graded", "given"),
    [([notebook(note="new")], "new", 2), ([notebook(note="new"), ""], "old", 1)],
    ids=["changed", "there and back"],
)
def test_what_changes_while_it_is_graded(
    script: Script, texts: list[str], graded: str, given: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = script.home / "go"
    path = hand_in(script.folder, "ann", until=str(go), note="old")
    left = [text or path.read_text() for text in texts]

    def sleep(seconds: float) -> None:
        """Change it, each time after it was looked at, then let the judge answer."""
        script.clock.now += seconds
        if script.gradings and script.clock.now % 5 == 0:
            path.write_text(left.pop(0)) if left else go.touch()

    monkeypatch.setattr(script.clock, "sleep", sleep)
    made = script.run(jobs=1)
    assert made.graded == 1 and script.gradings == {"ann": given}
    assert len(script.said) == 1 and graded in script.said[0]


def test_a_folder_that_goes_away_and_comes_back(script: Script) -> None:
    away = script.folder.with_name("away")
    pages: list[bytes] = []

    def note() -> None:
        pages.append((script.out / "grades.json").read_bytes())

    script.hand_in("ann")()
    script.run(
        ("ann: ", lambda: script.folder.rename(away)),
        ("There is no folder", lambda: (note(), script.folder.mkdir())),
        ("All submissions are gone", lambda: (note(), script.folder.rmdir())),
        ("There is no folder", lambda: (away.rename(script.folder), script.hand_in("bob")())),
        ("in is taken up.", lambda: None),
        ("bob: ", lambda: None),
    )
    assert pages[0] == pages[1] and script.gradings == {"ann": 1, "bob": 1}
    assert len(script.said) == 6  # each trouble is said once


def test_overrides_and_the_class_list_are_taken_up(script: Script) -> None:
    file, roster = script.out / "overrides.csv", script.home / "class.csv"
    seen: list[float] = []

    def note() -> None:
        seen.append(script.totals["ann"])

    roster.write_text("ann\nbob\n")
    script.hand_in("ann")()
    script.run(("ann: ", lambda: roster.write_text("ann\nbob\ncarl\n")), roster=roster)
    assert set(script.totals) == {"ann", "bob", "carl"}
    rest = script.totals["ann"] - script.told["submissions"][0]["exercises"][0]["points"]
    file.write_text(f"{HEAD}ann,02.1,0.5,\n")
    script.hand_in("bob")()
    script.run(
        ("bob: ", lambda: (file.write_text(f"{HEAD}ann,02.1,9,\n"), roster.unlink())),
        ("is not there; name a file with --roster. Until that is right", lambda: None),
        ("line 2: the points are '9'", script.hand_in("dora")),
        ("dora: ", lambda: (note(), file.write_text(f"{HEAD}ann,02.1,1.5,\n"))),
        ("overrides.csv is taken up", lambda: None),
        roster=roster,
    )
    note()
    assert seen == [pytest.approx(rest + 0.5), pytest.approx(rest + 1.5)]
    assert set(script.totals) == {"ann", "bob", "carl", "dora"}


def test_what_cannot_begin_is_told(script: Script) -> None:
    script.hand_in("ann")()
    for wish, said in (
        ({"folder": script.folder / "none"}, "There is no folder"),
        ({"out": script.folder / "out"}, "must not lie in one another"),
        ({"roster": script.folder / "none.csv"}, "The class list"),
    ):
        with pytest.raises(GradingError, match=said):
            script.run(**wish)


# --- when a notebook is whole ---------------------------------------------------------------------


@pytest.fixture
def coming(script: Script) -> Callable[..., set[str]]:
    """Looks once a second for so long; the names of those that may still be written."""
    run = Run(script.wish(), script.said.append, watch=True)
    grading = run.grading

    def look(seconds: float) -> set[str]:
        for second in range(int(seconds) + 1):
            script.clock.sleep(1.0 if second else 0.0)
            grading.read_folder()
            grading.reckon(run.rests)
        wanted = {job.submission.id for job in grading.wanted}
        return {one.name for one, _ in grading.people if one.id in grading.waiting - wanted}

    return look


Coming = Callable[..., set[str]]


def test_a_notebook_is_taken_when_it_is_still(script: Script, coming: Coming) -> None:
    whole = notebook(note="x" * 100)
    path = hand_in(script.folder, "ann")
    for size in range(10, len(whole), 25):
        path.write_text(whole[:size])
        assert coming(1) == {"ann"}
    path.write_text(whole)
    assert coming(STILL - 1) == {"ann"} and coming(1) == set() == coming(60)


def test_what_is_no_notebook_yet_is_waited_for_longer(script: Script, coming: Coming) -> None:
    path = hand_in(script.folder, "ann")
    whole = path.read_bytes()
    path.write_bytes(bytes(len(whole)))  # a place that is reserved first
    os.utime(path, (1, 1))
    for name, data in (("a", b"{"), ("b", b"[]"), ("c", b"\xff"), ("d", b"[" * 10**5)):
        (script.folder / f"{name}.ipynb").write_bytes(data)
    for name in (f"{FILE}.part", f".{FILE}.swp", f"{FILE}~", "02_messages.zip"):
        (script.folder / name).write_bytes(whole)
        (script.folder / "empty").mkdir(exist_ok=True)
        (script.folder / "empty" / name).write_bytes(whole)
    assert coming(BROKEN - 1) == {"ann", "a", "b", "c", "d", "empty"}
    path.write_bytes(whole)
    os.utime(path, (1, 1))
    assert coming(STILL - 1) == {"ann"} and coming(1) == set()
    (script.folder / "empty" / f"{FILE}.part").replace(script.folder / "empty" / FILE)
    assert coming(STILL - 1) == {"empty"} and coming(1) == set()
