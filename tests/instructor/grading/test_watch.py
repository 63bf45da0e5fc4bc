"""A folder that is watched while things happen in it, with a judge that does what it is told."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import fake_slots
import pytest
from fake_grader import FILE, JUDGE, hand_in, notebook, results

from helpers.instructor.grading import GradingError
from helpers.instructor.grading.files import owned
from helpers.instructor.grading.run import Wish, grade
from helpers.instructor.grading.watch import Watched, watch
from helpers.instructor.report.write import write_reports

IDLE = 30.0  # seconds of the test's clock
Step = tuple[str, Callable[[], object]]


class Script:
    """A watch on a folder. After a line that holds a step's text comes what the step does.

    said: the lines.
    """

    def __init__(self, home: Path, clock: fake_slots.Clock) -> None:
        self.clock = clock
        self.folder, self.out, self.log = home / "in", home / "out", home / "log"
        self.said: list[str] = []

    def run(self, *steps: Step, **wish: Any) -> Watched:
        """Watch until nothing is new any more; every step has to be reached."""
        left = list(steps)

        def say(line: str) -> None:
            self.said.append(line)
            if left and left[0][0] in line:
                left.pop(0)[1]()

        made = watch(self.wish(**wish), say, until_idle=IDLE)
        assert left == [], self.said
        return made

    def wish(self, **wish: Any) -> Wish:
        asked = {"folder": self.folder, "lesson": "02", "out": self.out, "jobs": 2, "judge": JUDGE}
        return Wish(**{**asked, **wish})

    def hand_in(self, *names: str, **order: Any) -> Callable[[], object]:
        """A step that hands in these."""
        return lambda: [hand_in(self.folder, name, **order) for name in names]

    @property
    def totals(self) -> dict[str, float]:
        data = json.loads((self.out / "grades.json").read_bytes())
        return {one["submission"]: one["total"] for one in data["submissions"]}

    @property
    def gradings(self) -> Counter[str]:
        """How often the judge was given each submission."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter(line.split()[1].split("-")[0] for line in lines)

    def lines(self, text: str) -> list[str]:
        return [line for line in self.said if text in line]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """With a clock and a key of the test's own, and a grader that nobody edits meanwhile."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("FAKE_JUDGE_LOG", str(tmp_path / "log"))
    version = "helpers.instructor.grading.run.grader_version"
    monkeypatch.setattr(version, lambda lesson, judge: "as it was")
    (tmp_path / "in").mkdir()
    return Script(tmp_path, fake_slots.install(monkeypatch))


def test_each_is_graded_when_it_comes_and_the_pages_show_it(script: Script) -> None:
    seen: list[list[str]] = []

    def look() -> None:
        seen.append(sorted(script.totals))

    script.hand_in("ann")()
    made = script.run(
        ("ann: ", lambda: (look(), hand_in(script.folder, "bob"))),
        ("bob: ", lambda: (look(), hand_in(script.folder, "ann", note="Better now."))),
        ("ann: ", look),
    )
    assert seen == [["ann"], ["ann", "bob"], ["ann", "bob"]]
    assert made.graded == 3 and script.gradings == {"ann": 2, "bob": 1}
    assert "Better now." in script.said[-1] and " of 15 points" in script.said[0]
    assert not (script.out / "run" / "taken").exists()


def test_it_leaves_what_grade_leaves(script: Script) -> None:
    script.hand_in("ann", "bob", "carl", "dora", note="")()
    (script.folder / "emil").mkdir()
    (script.folder / "fred.ipynb").write_text("{")
    (script.folder / "gina.ipynb").symlink_to(script.folder / "ann" / FILE)
    hand_in(script.folder, "hans", do="die once")
    script.run(("hans: ", script.hand_in("ida")))
    watched = results(script.out)
    assert "emil: The folder holds no 02_messages.ipynb." in script.said
    again = grade(script.wish())
    assert (again.graded, again.cached) == (0, 7) and results(script.out) == watched
    assert {name: n for name, n in script.gradings.items() if n != 1} == {"hans": 2}
    whole = script.out.with_name("whole")
    grade(script.wish(out=whole))
    assert results(whole) == watched


def test_a_restart_grades_nothing_twice(script: Script) -> None:
    script.hand_in("ann", "bob")()
    script.run()
    before = results(script.out)
    script.hand_in("bob", note="while nobody looked")()
    script.hand_in("carl")()
    script.run()
    assert "With a result from before: 1." in script.said
    assert script.gradings == {"ann": 1, "bob": 2, "carl": 1}
    script.hand_in("bob")()
    shutil.rmtree(script.folder / "carl")
    script.run()
    assert results(script.out) == {
        **before,
        **{n: d for n, d in results(script.out).items() if n.startswith("results/carl-")},
    }


def test_what_waits_is_named_and_has_no_grade_yet(script: Script) -> None:
    seen: list[dict[str, Any]] = []

    def look() -> None:
        seen.append(json.loads((script.out / "grades.json").read_bytes()))
        assert "not graded yet as it is now" in (script.out / "class.html").read_text()

    script.hand_in("ann")()
    script.run(
        ("ann: ", lambda: [hand_in(script.folder, n, sleep=20.0) for n in ("ann", "bob", "carl")]),
        (": ", look),
        jobs=1,
    )
    assert {one["submission"] for one in seen[0]["submissions"]} >= {"ann"}
    assert len(seen[0]["waiting"]) == 2
    assert "waiting" not in json.loads((script.out / "grades.json").read_bytes())
    assert "not graded yet" not in (script.out / "class.html").read_text()


class Changing:
    """Changes a submission while the judge has it, which then waits for a word of ours."""

    def __init__(self, script: Script) -> None:
        self.script, self.go = script, script.out.with_name("go")
        self.order = {"until": str(self.go), "note": "old"}
        hand_in(script.folder, "ann", **self.order)

    def run(self, *texts: str, **wish: Any) -> Watched:
        """Watch; what is handed in becomes each text in turn, and each time the watch sees it."""
        self.script.clock.meanwhile = self.change(*texts)
        return self.script.run(**wish)

    def change(self, *texts: str) -> Iterator[None]:
        while not self.script.gradings:
            yield
        for text in texts:
            before = self.copies()
            (self.script.folder / "ann" / FILE).write_text(text)
            while self.copies() == before:
                yield
        self.go.touch()

    def copies(self) -> set[str]:
        """The names of the copies that wait or are graded."""
        return {path.name for path in (self.script.out / "run" / "taken").glob("*")}


def test_what_changes_while_it_is_graded_is_graded_as_it_is_then(script: Script) -> None:
    made = Changing(script).run(notebook(note="new"))
    assert made.graded == 1 and len(script.lines("ann: ")) == 1 and "new" in script.said[-1]
    (stored,) = (script.out / "results").glob("*.json")
    assert json.loads(stored.read_bytes())["grade"]["note"] == "new"


def test_what_is_changed_there_and_back_is_graded_once(script: Script) -> None:
    changing = Changing(script)
    made = changing.run(notebook(note="new"), notebook(**changing.order), jobs=1)
    assert made.graded == 1 and script.gradings == {"ann": 1}


def test_renamed_and_removed(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the reports take longer than the time after which it would be idle, too."""
    module, clock = "helpers.instructor.grading.watch", script.clock
    monkeypatch.setattr(
        f"{module}.write_reports", lambda *a: (write_reports(*a), clock.sleep(IDLE + 1))
    )
    script.hand_in("ann", "bob")()
    script.run(
        ("bob: ", lambda: (script.folder / "ann").rename(script.folder / "anna")),
        ("anna: ", lambda: shutil.rmtree(script.folder / "bob")),
        jobs=1,
    )
    assert set(script.totals) == {"anna"}
    assert [p.name.partition("-")[0] for p in (script.out / "students").iterdir()] == ["anna"]


def test_a_folder_that_comes_late_and_goes_away(script: Script) -> None:
    away = script.folder.with_name("away")
    script.folder.rmdir()
    hand_in(away, "ann")
    pages: list[bytes] = []

    def vanish() -> None:
        script.folder.rename(away)
        pages.append((script.out / "grades.json").read_bytes())

    def come_back() -> None:
        pages.append((script.out / "grades.json").read_bytes())
        away.rename(script.folder)
        hand_in(script.folder, "bob")

    script.run(
        ("There is no folder", lambda: away.rename(script.folder)),
        ("in is there.", lambda: None),
        ("ann: ", vanish),
        ("There is no folder", come_back),
        ("in is there.", lambda: None),
        ("bob: ", lambda: None),
    )
    assert pages[0] == pages[1] and script.gradings == {"ann": 1, "bob": 1}
    assert len(script.said) == 6  # each trouble is said once


def test_overrides_are_taken_up(script: Script) -> None:
    head = "submission,exercise,points,comment\n"
    file = script.out / "overrides.csv"
    seen: list[float] = []

    def note() -> None:
        seen.append(script.totals["ann"])

    script.hand_in("ann", "bob")()
    script.run(jobs=1)
    was = script.totals["ann"]
    data = json.loads((script.out / "grades.json").read_bytes())["submissions"][0]["exercises"]
    file.write_text(f"{head}ann,02.1,0.5,\n")
    script.run(("With a result from before", lambda: None))
    note()
    file.write_text(f"{head}nobody,02.1,1,\n")
    script.run(
        ("there is no submission 'nobody'. There are no pages before", script.hand_in("carl")),
        ("carl: ", lambda: (note(), file.write_text(f"{head}ann,02.1,1.5,\n"))),
        ("overrides.csv is taken up", lambda: None),
    )
    assert "carl" in script.totals
    note()
    assert seen == [pytest.approx(was - data[0]["points"] + x) for x in (0.5, 0.5, 1.5)]
    script.run(
        ("With a result", script.hand_in("dora")),
        ("dora: ", lambda: file.write_text(f"{head}ann,02.1,9,\n")),
        ("line 2: the points are '9'", lambda: None),
    )
    assert script.totals["ann"] == seen[-1]
    assert "The points from before still count" in script.said[-1]


def test_the_class_list_is_taken_up(script: Script) -> None:
    roster = script.out.with_name("class.csv")
    roster.write_text("ann\nbob\n")
    script.hand_in("ann")()
    script.run(
        ("ann: ", lambda: roster.write_text("ann\nbob\ncarl\n")),
        roster=roster,
    )
    assert set(script.totals) == {"ann", "bob", "carl"}
    script.run(
        ("With a result", lambda: roster.unlink()),
        ("is not there; name a file with --roster. The one from before", lambda: None),
        roster=roster,
    )
    assert set(script.totals) == {"ann", "bob", "carl"}


def test_where_the_grader_fails_the_rest_goes_on(script: Script) -> None:
    hand_in(script.folder, "dies", do="die")
    script.hand_in("ann", "bob")()
    script.run(("dies: ", script.hand_in("carl")))
    assert script.gradings == {"dies": 2, "ann": 1, "bob": 1, "carl": 1}
    assert script.totals["dies"] == 0 and "grader itself failed" in script.lines("dies: ")[0]
    script.run()
    assert script.gradings["dies"] == 4  # the next watch tries it again, as grade does


def test_what_is_not_judged_is_asked_again_alone(script: Script) -> None:
    hand_in(script.folder, "never", do="unjudged")
    hand_in(script.folder, "once", do="unjudged once")
    script.hand_in("ann")()
    script.run()
    assert script.gradings == {"ann": 1, "never": 2, "once": 2}
    assert len(script.said) == 3 and "02.3 not judged" in script.lines("never: ")[0]
    assert "not judged" not in script.lines("once: ")[0]
    order = [line.split()[1].split("-")[0] for line in script.log.read_text().splitlines()]
    assert sorted(order[:3]) == ["ann", "never", "once"]
    script.run()
    assert script.gradings == {"ann": 1, "never": 4, "once": 2}


def test_results_of_another_way_to_grade_are_not_shown(script: Script) -> None:
    script.hand_in("ann", "bob")()
    script.run(mode="none")
    seen: list[dict[str, float]] = []
    script.run((": ", lambda: seen.append(script.totals)), jobs=1)
    assert len(seen[0]) == 1 and len(script.totals) == 2
    assert not (script.out / "NOT_SANDBOXED.txt").exists()


def test_parts_of_a_class(script: Script) -> None:
    script.hand_in(*(f"s{i}" for i in range(6)))()
    outs = [script.out.with_name(f"part-{i}") for i in (1, 2)]
    counts = [script.run(out=out, shard=(i, 2)).graded for i, out in enumerate(outs, start=1)]
    assert sum(counts) == 6 and 0 not in counts


def test_what_cannot_begin_is_told(script: Script) -> None:
    script.hand_in("ann")()
    script.out.mkdir()
    with owned(script.out), pytest.raises(GradingError, match="Another grader is at work"):
        script.run()
    for wish, said in (
        ({"out": script.folder / "out"}, "must not lie in one another"),
        ({"lesson": "77"}, "no lesson 77"),
        ({"roster": script.folder / "none.csv"}, "The class list"),
    ):
        with pytest.raises(GradingError, match=said):
            script.run(**wish)


def test_pages_that_would_be_the_same_are_not_written(script: Script) -> None:
    times: list[Sequence[int]] = []

    def note() -> None:
        pages = sorted((script.out / "students").glob("ann-*"))
        times.append([page.stat().st_mtime_ns for page in pages])

    script.hand_in("ann")()
    script.run(("ann: ", lambda: (note(), hand_in(script.folder, "bob"))), ("bob: ", note))
    assert len(times[0]) == 1 and times[0] == times[1]
    assert notebook() == (script.folder / "ann" / FILE).read_text()
