"""`./course grade stats`: terms compared, intervals from the literature, a page without names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_report_pages import Tags
from test_report_tables import exercise, sheet

from helpers.course import cli
from helpers.grade.grades import SubmissionGrade
from helpers.grade.report.sheet import Column
from helpers.grade.statistics import (
    HEADER,
    Figure,
    compare,
    percent,
    read_terms,
    statistics,
    wilson,
)
from helpers.grade.wish import GradingError

NAME = "Jane Doe"
OUTCOMES = ("passed", "wrong", "not attempted")


def written(
    folder: Path,
    counts: tuple[int, int, int],
    more: Sequence[Any] = (),
    titles: Sequence[str] = ("Scatter",),
    points: float = 2.0,
) -> Path:
    """Writes a term: how many passed, summed instead of averaging, left it open, or else."""
    columns = tuple(Column(f"02.{i}", title, points) for i, title in enumerate(titles, 1))
    entries = []
    for outcome in [o for o, n in zip(OUTCOMES, counts, strict=True) for _ in range(n)] + [*more]:
        one = replace(exercise(0, outcome), mistake="sums" if outcome == "wrong" else "")
        grades = tuple(replace(one, number=c.number, title=c.title) for c in columns)
        grade = SubmissionGrade(NAME, "02", 5, "none", grades)
        entries.append(replace(sheet([NAME]).entries[0], grade=grade, overrides=()))
    entries.append(replace(entries[0], handed_in=False))
    made = sheet(columns=columns, entries=tuple(entries), sandbox="none")
    folder.mkdir(parents=True)
    (folder / "grades.json").write_text(json.dumps(made.as_json()))
    return folder


def last(folders: list[Path], title: str = "Scatter") -> dict[str, Figure]:
    """What came of the exercise in the last term."""
    return {one.what: one for one in compare(read_terms(folders))[title]}


def test_intervals_are_those_of_their_papers() -> None:
    # E. B. Wilson's formula, by hand.
    for share, ends in (((15, 20), (0.5313, 0.8881)), ((0, 10), (0.0, 0.2775)), ((0, 0), (0, 1))):
        assert wilson(*share) == pytest.approx(ends, abs=1e-4)
    # Newcombe 1998, table II, method 10: 56/70 − 48/80 and 9/10 − 3/10.
    for first, second, ends in (
        ((48, 80), (56, 70), (0.0524, 0.3339)),
        ((3, 10), (9, 10), (0.1705, 0.8090)),
    ):
        before = Figure("02.1", "", "2025", "passed", False, *first, None)
        change = Figure("02.1", "", "2026", "passed", False, *second, before).change
        assert change and change[1:] == pytest.approx(ends, abs=1e-4)


@pytest.mark.parametrize(
    ("before", "after", "verdicts"),
    [
        ((2, 3, 0), (4, 1, 0), ["", "", "", ""]),  # a small class is not read too closely
        ((40, 60, 0), (80, 20, 0), ["better", "better", "", "better"]),
        ((90, 5, 5), (60, 35, 5), ["worse", "worse", "", "worse"]),
    ],
)
def test_what_is_clear_is_said(
    tmp_path: Path, before: Any, after: Any, verdicts: list[str]
) -> None:
    found = last([written(tmp_path / "2025", before), written(tmp_path / "2026", after)])
    assert list(found) == ["passed", "wrong", "not attempted", "sums"]
    assert [one.verdict for one in found.values()] == verdicts


def test_who_handed_in_nothing_or_was_not_judged_is_not_counted(tmp_path: Path) -> None:
    more = ("not judged", "by hand", "missing", "time-out", "error")
    folders = [written(tmp_path / "2025", (1, 1, 0), more)]
    (term,), found = read_terms(folders), last(folders)
    said = "02.1 for 2 points, 2 not judged, or only by hand, and not counted"
    assert str(term.tallies["Scatter"]) == said and term.data["handed_in"] == 7
    assert {what: (one.count, one.of) for what, one in found.items()} == {
        "passed": (1, 5), "wrong": (3, 5), "not attempted": (1, 5),
        "an exception": (1, 5), "no end within the time": (1, 5), "sums": (1, 5),
    }  # fmt: skip
    # What only the instructor reads is left out.
    assert compare(read_terms([written(tmp_path / "2026", (0, 0, 0), ["by hand"])])) == {}


def test_exercises_that_changed_are_told(tmp_path: Path) -> None:
    folders = [
        written(tmp_path / "2024", (3, 1, 0), titles=["Scatter", "Ring"]),
        written(tmp_path / "2025", (3, 1, 0), titles=["Broadcast", "Scatter"], points=3.0),
        written(tmp_path / "2026", (4, 0, 0), titles=["Scatter", "Ring"]),
    ]
    assert list(compare(read_terms(folders))) == ["Scatter", "Ring", "Broadcast"]
    statistics(folders, tmp_path)
    page = (tmp_path / "statistics.html").read_text()
    assert "<bdi>2025</bdi>: 02.2 for 3 points; <bdi>2026</bdi>: 02.1 for 2 points." in page
    assert "<bdi>2025</bdi>: not there; " in page
    before = last(folders, "Ring")["passed"].before
    assert before and before.count == 3  # of 2024, the last that had it


def test_the_page_the_table_and_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "2025", (40, 60, 0))
    written(tmp_path / "2026", (80, 18, 2))
    monkeypatch.setenv("COURSE_FROM", str(tmp_path))
    assert cli.main(["grade", "stats", "2025", "2026", "--out", "out"]) == 0
    lines = capsys.readouterr().out
    page = (tmp_path / "out" / "statistics.html").read_bytes()
    table = (tmp_path / "out" / "statistics.csv").read_text()
    assert not Tags(page).tags & {"script", "img"} and b"default-src 'none'" in page
    text = page.decode()
    for said in ("Lesson 02: Messages", "Scatter", "40 of 100", "(31 to 50)", "better", "stamp",
                 "+40 percentage points (+27 to +51)", "There are 4 comparisons"):  # fmt: skip
        assert said in text, said
    assert not any(NAME in told for told in (text, table, lines))
    header, *rows = csv.reader(io.StringIO(table))
    assert header == HEADER and len(rows) == 8
    assert rows[1][:7] == ["02.1", "Scatter", "2026", "passed", "80", "100", "0.8"]
    assert float(rows[1][9]) == 0.4 and rows[1][-1] == "better"
    assert float(rows[-1][9]) == -0.42  # a number, not a text
    assert "02.1 Scatter: passed by 2025: 40 % of 100, 2026: 80 % of 100." in lines
    statistics([tmp_path / "2025"], tmp_path / "alone")
    assert "What changed" not in (tmp_path / "alone" / "statistics.html").read_text()


def test_numbers_are_written_with_their_sign() -> None:
    assert [percent(x) for x in (0.344, 0.004, 0.0)] == ["34", "0.4", "0"]
    assert percent(-0.21, sign=True) == "−21" and percent(-0.003, sign=True) == "−0.3"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "holds no grades"),
        ("{", "is not what was written there"),
        ('{"lesson": "02", "submissions": [{}], "exercises": []}', "is not what was written"),
        ('{"lesson": "03", "title": "", "grader": "", "submissions": [], "exercises": []}', "03"),
    ],
)
def test_bad_input_gets_a_sentence(tmp_path: Path, text: str | None, said: str) -> None:
    (tmp_path / "bad").mkdir()
    if text is not None:
        (tmp_path / "bad" / "grades.json").write_text(text)
    with pytest.raises(GradingError, match=said):
        read_terms([written(tmp_path / "2025", (1, 0, 0)), tmp_path / "bad"])
    with pytest.raises(GradingError, match="Name the folders of one"):
        read_terms([])
