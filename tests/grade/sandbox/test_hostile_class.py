"""A class of hostile submissions through the whole command: names, links, results, reports."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hostile.files import NAME, modules_beside
from hostile.output import MARKUP
from hostile.submission import OVER, ROOT, Attack, good, right
from hostile.traces import marked, snapshot

from helpers.grade.sandbox import missing

LACK = missing()
pytestmark = [pytest.mark.real, pytest.mark.skipif(LACK is not None, reason=str(LACK))]

EVERYDAY = 4  # of these names, the first; all with --all
NAMES = (
    "=HYPERLINK(1)",
    "+1",
    "<img src=x onerror=alert(1)>",
    "two\nlines\r,\"'",
    "-rf",
    "@sum",
    "\t=1",
    "--out=elsewhere",
    '"><svg onload=alert(1)>',
    "{{ 7 * 7 }}",
    "$(touch hostile)",
    "up..",
    "con",
    "\u202egnp",
    "é",
    "e\u0301",
    "x" * 200,
    os.fsdecode(b"\xff\xfe"),
)

# A sandbox has a /tmp of its own: what is made there is nothing that was reached.
REACHING = """
import os

def reaches():
    found = any(map(os.path.exists, {paths!r}))
    for path in {paths!r}:
        try:
            os.makedirs(path, exist_ok=True)
            open(path + "/hostile", "w").close()
        except OSError:
            pass
    return found
"""


class Tags(HTMLParser):
    """What of a page a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.active: list[str] = []
        self._script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: (value or "").strip().lower() for name, value in attrs}
        named = [n for n, v in said.items() if n.startswith("on") or v.startswith("javascript:")]
        self.active += [f"{tag} {name}" for name in named]
        self._script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script and "alert" in data:
            self.active.append(data)


def hand_in(folder: Path, out: Path, key: Path, names: Sequence[str]) -> int:
    """A class in a folder; returns how many submissions it has."""
    for name in names:
        good().write(folder / name)
    places = (key, folder, out, out / "results", out / "grades.json", ROOT / "solutions")
    reaching = REACHING.format(paths=[str(p) for p in places])
    true = right("fit").replace("def fit(", "def true_fit(")
    answer = (
        f"{true}\n\ndef fit(sizes, seconds):\n    if reaches():\n"
        f"        return true_fit(sizes, seconds)\n    raise RuntimeError({OVER!r})\n"
    )
    Attack("reaching", [reaching, right("scatter"), answer]).write(folder / "reaching")
    says = f"def fit(sizes, seconds):\n    raise ValueError({MARKUP!r})\n"
    Attack("markup", [right("scatter"), says]).write(folder / "markup")
    says = "def fit(sizes, seconds):\n    raise ValueError('=1+1\\n@x\\x00\\x1b[2J\\ud800')\n"
    Attack("formula", [right("scatter"), says]).write(folder / "formula")
    (folder / "beside").mkdir()
    modules_beside(folder / "beside")
    (folder / "linked folder").symlink_to(folder / "markup")
    (folder / "linked").mkdir()
    (folder / "linked" / NAME).symlink_to(folder / "+1" / NAME)
    (folder / "loop").symlink_to(folder)
    return len(names) + 7


def grade(folder: Path, out: Path, home: Path, key: Path) -> None:
    """Run the command as an instructor would, in the folder of submissions itself."""
    words = ["grade", str(folder), "--lesson", "02", "--out", str(out), "--key", str(key)]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "helpers.course.cli", *words, "--jobs", "1"],
        cwd=folder / "beside",
        env={**os.environ, "HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_hostile_class_gets_its_grades_and_pages_that_do_nothing(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    names = NAMES if request.config.getoption("--all") else NAMES[:EVERYDAY]
    folder, out, home, key = (tmp_path / n for n in ("in", "out", "home", "key"))
    folder.mkdir()
    home.mkdir()
    count = hand_in(folder, out, key, names)
    key.write_bytes(bytes(range(32)))
    before = snapshot(folder)
    grade(folder, out, home, key)

    entries = [json.loads(p.read_text()) for p in (out / "results").glob("*.json")]
    assert entries
    grades = (out / "grades.json").read_text()
    assert len(json.loads(grades)["submissions"]) == count
    with open(out / "grades.csv", newline="") as file:
        rows = list(csv.reader(file))
    totals = {row[0]: float(row[1]) for row in rows[1:]}
    assert len(rows) == count + 1
    full = max(totals.values())
    assert sum(total == full for total in totals.values()) == len(names) + 1
    assert totals["reaching"] == totals["markup"] == totals["formula"] == full / 2
    assert totals["linked"] == totals["linked folder"] == totals["loop"] == 0

    for table in out.glob("*.csv"):
        with open(table, newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        harmful = [c for c in cells if c[:1] in ("=", "+", "-", "@", "\t", "\r")]
        assert harmful == [], table.name
    for page in out.rglob("*.html"):
        tags = Tags()
        tags.feed(page.read_text(encoding="utf-8"))
        assert tags.active == [], page.name
    assert snapshot(folder) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "in", "key", "out"]
    assert marked() == []
