"""A class that arrives one after the other, graded in real sandboxes, killed once in the middle."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile.submission import ROOT, Attack, right
from submissions import as_cell, named, solution, untouched, write

from helpers.exercises import of_lesson
from helpers.instructor.sandbox import missing

LACK = missing()
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(LACK is not None, reason=str(LACK)),
    pytest.mark.thorough,
    pytest.mark.timeout(1500),
]
LESSON = "02"
FILE = named(LESSON)
KILLED = "grace"  # the submission that is being graded when the grader is killed
PATIENCE = 300.0  # seconds, after which something is lost; how long it took is printed
LINKED = re.compile(r'href="(students/[^"]+)"')
Put = Callable[[Path], None]


def put(data: bytes) -> Put:
    """Hand these bytes in at once, under another name first, as a browser does."""

    def do(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(data)
        part.replace(path)

    return do


def slowly(data: bytes) -> Put:
    """Hand them in bit by bit, over several looks at the folder."""

    def do(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        size = len(data) // 5 + 1
        with path.open("wb") as file:
            for start in range(0, len(data), size):
                file.write(data[start : start + size])
                file.flush()
                time.sleep(1.5)

    return do


def a_class(scratch: Path) -> list[tuple[str, Put]]:
    """Ten submissions in the order in which they come; some come again."""
    exercises = of_lesson(LESSON)
    wrong = [
        write(scratch / f"wrong-{n}.ipynb", [as_cell(e, e.wrong[n].function) for e in exercises])
        for n in (0, 1)
    ]
    hostile = [
        Attack("ends", ["import os\nos._exit(3)", right("scatter")]),
        Attack(
            "hangs", [right("scatter"), "def fit(sizes, seconds):\n    while True:\n        pass\n"]
        ),
    ]
    files = [one.write(scratch / one.name) for one in hostile]
    right_ones, open_ones = solution(LESSON).read_bytes(), untouched(LESSON).read_bytes()
    return [
        ("ada", put(right_ones)),
        ("bob", put(wrong[0].read_bytes())),
        ("carl", put(open_ones)),
        ("dora", slowly(right_ones)),
        ("emil", put(right_ones[: len(right_ones) // 2])),  # half a notebook, for good
        ("fred", put(files[0].read_bytes())),
        (KILLED, put(right_ones)),
        ("hans", put(files[1].read_bytes())),
        ("bob", put(right_ones)),  # hands in again
        ("ida", put(wrong[1].read_bytes())),
        ("carl", put(wrong[0].read_bytes())),  # does so, too
        ("jane", put(open_ones)),
    ]


class Reader(threading.Thread):
    """Reads the pages at every moment, as a browser and a script do; faults: what was not right."""

    def __init__(self, out: Path) -> None:
        super().__init__(daemon=True)
        self.out, self.faults, self.looks, self.torn = out, list[str](), 0, 0
        self._end = threading.Event()

    def run(self) -> None:
        while not self._end.is_set():
            try:
                self._look()
            except FileNotFoundError as error:
                if self.looks:
                    self.faults.append(f"gone: {error.filename}")
            except Exception as error:
                self.faults.append(repr(error))
            time.sleep(0.01)

    def end(self) -> None:
        self._end.set()
        self.join()

    def _look(self) -> None:
        before = (self.out / "grades.json").read_bytes()
        data = json.loads(before)
        table = (self.out / "grades.csv").read_bytes().decode()
        page = (self.out / "class.html").read_bytes().decode()
        pages = set(LINKED.findall(page))
        lost = [name for name in pages if not self._is_whole(name)]
        for name in ("canvas.csv", "moodle.csv"):
            list(csv.reader(io.StringIO((self.out / name).read_bytes().decode()), strict=True))
        self.looks += 1
        if lost:
            self.faults.append(f"named and not there: {lost}")
        if not page.endswith("</html>"):
            self.faults.append("half a page")
        if self._agree(data, table, pages):
            return
        # They are exchanged one after the other, grades.json last: then it is about to be.
        self.torn += 1
        until = time.monotonic() + PATIENCE
        while (self.out / "grades.json").read_bytes() == before:
            if time.monotonic() > until:
                self.faults.append("the files do not agree")
                return
            time.sleep(0.001)

    def _is_whole(self, name: str) -> bool:
        path = self.out / name
        told = self.out / "gradescope" / path.stem / "results.json"
        return path.read_text().endswith("</html>") and "score" in json.loads(told.read_text())

    def _agree(self, data: dict[str, Any], table: str, pages: set[str]) -> bool:
        rows = list(csv.reader(io.StringIO(table), strict=True))[1:]
        in_table = {row[0]: float(row[1]) for row in rows}
        in_json = {one["submission"]: one["total"] for one in data["submissions"]}
        linked = {f"students/{one['id']}.html" for one in data["submissions"]}
        return in_table == in_json and linked == pages


def start(folder: Path, out: Path, key: Path, log: Path) -> subprocess.Popen[bytes]:
    """The command, as it is typed."""
    words = ["grade", "--watch", str(folder), "--lesson", LESSON, "--out", str(out)]
    with log.open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "helpers.cli", *words, "--key", str(key), "--jobs", "2"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=said,
            stderr=said,
        )


def graded(out: Path, name: str, times: int) -> bool:
    """Whether the pages show the grade of a submission that was handed in so many times."""
    try:
        data = json.loads((out / "grades.json").read_bytes())
    except FileNotFoundError:
        return False
    names = [one["submission"] for one in data["submissions"]]
    shown = name in names and name not in data.get("waiting", ())
    return shown and gradings(out).get(name, 0) >= times


def gradings(out: Path) -> dict[str, int]:
    """How many gradings came to their end, by submission."""
    counts: dict[str, int] = {}
    times = out / "run" / "timings.jsonl"
    for line in times.read_text().splitlines() if times.exists() else ():
        name = json.loads(line)["submission"]
        counts[name] = counts.get(name, 0) + 1
    return counts


def test_ten_submissions_one_after_the_other(tmp_path: Path) -> None:
    folder, out, key, log = (tmp_path / n for n in ("in", "out", "key", "log"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    folder.mkdir()
    key.write_bytes(bytes(range(32)))
    arriving, came = a_class(scratch), dict[str, int]()
    reader, process = Reader(out), start(folder, out, key, log)
    reader.start()
    try:
        for name, hand_in in arriving:
            hand_in(folder / name / FILE)
            arrived, came[name] = time.monotonic(), came.get(name, 0) + 1
            killed = name != KILLED
            while not graded(out, name, came[name]):
                assert time.monotonic() - arrived < PATIENCE, log.read_text()
                assert process.poll() is None, log.read_text()
                if not killed and list((out / "run" / "taken").glob(f"{name}-*.ipynb")):
                    time.sleep(1.0)  # a slot has it by now
                    process.kill()
                    process.wait()
                    process, killed = start(folder, out, key, log), True
                time.sleep(0.02)
            print(f"{name}, {came[name]}: graded {time.monotonic() - arrived:.1f} s after it came")
            assert killed
        time.sleep(3.0)
        before = {p.name: p.read_bytes() for p in out.glob("*.*")}
        assert not list((out / "run" / "taken").glob("*"))
    finally:
        process.terminate()
        process.wait()
        reader.end()

    print(log.read_text(), f"{reader.looks} looks, {reader.torn} between two files")
    assert reader.faults == [] and reader.looks > 100
    assert gradings(out) == came  # nothing is lost, and nothing graded twice
    totals = {row[0]: float(row[1]) for row in csv.reader(io.StringIO(_read(out)))
              if row[0] != "submission"}  # fmt: skip
    full = float(sum(exercise.points for exercise in of_lesson(LESSON)))
    assert set(totals) == set(came) and len(came) == 10
    assert totals["ada"] == totals["bob"] == totals["dora"] == totals[KILLED] == full
    assert totals["emil"] == totals["jane"] == totals["ida"] == totals["carl"] == 0
    assert 0 < totals["fred"] < full and 0 < totals["hans"] < full
    assert grade_as_ever(folder, out, key) == before


def _read(out: Path) -> str:
    return (out / "grades.csv").read_text()


def grade_as_ever(folder: Path, out: Path, key: Path) -> dict[str, bytes]:
    """What the command without --watch makes of it: it has nothing to grade."""
    words = ["grade", str(folder), "--lesson", LESSON, "--out", str(out), "--key", str(key)]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "helpers.cli", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "0 graded, 10 unchanged" in done.stdout
    return {p.name: p.read_bytes() for p in out.glob("*.*")}
