"""`./course grade stats`: terms compared, intervals from the literature, a page without names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_report_pages import Tags

from helpers import cli
from helpers.instructor.grading import GradingError
from helpers.instructor.statistics import (
    HEADER,
    Change,
    Figure,
    Share,
    compare,
    percent,
    read_terms,
    statistics,
)

NAME = "Jane Doe"
Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a term: how many passed, summed instead of averaging, left it open, or else."""

    def write(
        label: str, passed: int, summed: int, left: int, more: tuple[str, ...] = (), **data: Any
    ) -> Path:
        titles = data.pop("titles", {"02.1": "Scatter"})
        points = data.pop("points", 2.0)
        outcomes = ["passed"] * passed + ["wrong"] * summed + ["not attempted"] * left + [*more]
        known = {"submission": NAME, "handed_in": True}
        told = {"hint": NAME, "reason": NAME}
        submissions = [
            known
            | {
                "exercises": [
                    told | {"number": n, "outcome": o, "mistake": "sums" if o == "wrong" else ""}
                    for n in titles
                ]
            }
            for o in outcomes
        ]
        submissions.append({"submission": NAME, "handed_in": False, "exercises": []})
        exercises = [{"number": n, "title": t, "points": points} for n, t in titles.items()]
        grades = {"lesson": "02", "title": "Messages", "grader": label, "exercises": exercises}
        (tmp_path / label).mkdir(parents=True)
        text = json.dumps(grades | {"submissions": submissions} | data)
        (tmp_path / label / "grades.json").write_text(text)
        return tmp_path / label

    return write


def last(folders: list[Path], title: str = "Scatter") -> dict[str, Figure]:
    """What came of the exercise in the last term."""
    return {one.what: one for one in compare(read_terms(folders))[title]}


@pytest.mark.parametrize(
    ("of", "low", "high"),
    [
        # E. B. Wilson's formula, by hand.
        (Share(15, 20), 0.5313, 0.8881),
        (Share(0, 10), 0.0, 0.2775),
        (Share(0, 0), 0.0, 1.0),
        # Newcombe 1998, table II, method 10: 56/70 − 48/80 and 9/10 − 3/10.
        (Change(Share(48, 80), Share(56, 70)), 0.0524, 0.3339),
        (Change(Share(3, 10), Share(9, 10)), 0.1705, 0.8090),
    ],
)
def test_intervals_are_those_of_their_papers(of: Share | Change, low: float, high: float) -> None:
    assert of.interval == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("before", "after", "verdicts"),
    [
        ((2, 3, 0), (4, 1, 0), ["", "", "", ""]),  # a small class is not read too closely
        ((40, 60, 0), (80, 20, 0), ["better", "better", "", "better"]),
        ((90, 5, 5), (60, 35, 5), ["worse", "worse", "", "worse"]),
    ],
)
def test_what_is_clear_is_said(
    written: Written, before: tuple[int, ...], after: tuple[int, ...], verdicts: list[str]
) -> None:
    found = last([written("2025", *before), written("2026", *after)])
    assert list(found) == ["passed", "wrong", "not attempted", "sums"]
    assert [one.verdict for one in found.values()] == verdicts


def test_who_handed_in_nothing_or_was_not_judged_is_not_counted(written: Written) -> None:
    folders = [written("2025", 1, 1, 0, ("not judged", "by hand", "missing", "time-out", "error"))]
    (term,), found = read_terms(folders), last(folders)
    said = "02.1 for 2 points, 2 not judged, or only by hand, and not counted"
    assert str(term.tallies["Scatter"]) == said and term.data["handed_in"] == 7
    assert {what: (one.share.count, one.share.of) for what, one in found.items()} == {
        "passed": (1, 5), "wrong": (3, 5), "not attempted": (1, 5),
        "an exception": (1, 5), "no end within the time": (1, 5), "sums": (1, 5),
    }  # fmt: skip
    # What only the instructor reads is left out.
    assert compare(read_terms([written("2026", 0, 0, 0, ("by hand",))])) == {}


def test_exercises_that_changed_are_told(written: Written, tmp_path: Path) -> None:
    folders = [
        written("2024", 3, 1, 0, titles={"02.1": "Scatter", "02.2": "Ring"}),
        written("2025", 3, 1, 0, titles={"02.1": "Broadcast", "02.2": "Scatter"}, points=3.0),
        written("2026", 4, 0, 0, titles={"02.1": "Scatter", "02.2": "Ring"}),
    ]
    assert list(compare(read_terms(folders))) == ["Scatter", "Ring", "Broadcast"]
    statistics(folders, tmp_path)
    page = (tmp_path / "statistics.html").read_text()
    assert "<bdi>2025</bdi>: 02.2 for 3 points; <bdi>2026</bdi>: 02.1 for 2 points." in page
    assert "<bdi>2025</bdi>: not there; " in page
    change = last(folders, "Ring")["passed"].change
    assert change and change.before.count == 3  # with 2024, the last that had it


def test_the_page_the_table_and_the_lines(
    written: Written,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written("2025", 40, 60, 0)
    written("2026", 80, 18, 2, warning="Not sandboxed: x.")
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


def test_terms_of_one_name_and_numbers_with_their_sign(written: Written) -> None:
    folders = [written("2025/grades", 3, 1, 0), written("2026/grades", 3, 1, 0)]
    assert [term.label for term in read_terms(folders)] == [str(folder) for folder in folders]
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
def test_bad_input_gets_a_sentence(
    written: Written, tmp_path: Path, text: str | None, said: str
) -> None:
    (tmp_path / "bad").mkdir()
    if text is not None:
        (tmp_path / "bad" / "grades.json").write_text(text)
    with pytest.raises(GradingError, match=said):
        read_terms([written("2025", 1, 0, 0), tmp_path / "bad"])
    with pytest.raises(GradingError, match="Name the folders of one"):
        read_terms([])
