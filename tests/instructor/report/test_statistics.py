"""One lesson over terms: counted right, compared with care, and with nobody's name."""

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
from helpers.instructor.grading.run import FAILED
from helpers.instructor.statistics.compare import compare
from helpers.instructor.statistics.page import difference, percent
from helpers.instructor.statistics.shares import Change, Share
from helpers.instructor.statistics.stats import HEADER, statistics
from helpers.instructor.statistics.terms import read_terms

NAME = "Jane Doe"
Written = Callable[..., Path]


def submission(outcomes: dict[str, tuple[str, str]], **more: Any) -> dict[str, Any]:
    """One submission: for each exercise its outcome and mistake."""
    exercises = [
        {"number": n, "outcome": outcome, "mistake": mistake, "hint": NAME, "reason": NAME}
        for n, (outcome, mistake) in outcomes.items()
    ]
    return {"submission": NAME, "handed_in": True, "note": "", "exercises": exercises} | more


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a term: how many passed, summed instead of averaging, left it open."""

    def write(label: str, passed: int, summed: int, left: int, **data: Any) -> Path:
        folder = tmp_path / label
        folder.mkdir(parents=True)
        titles = data.pop("titles", {"02.1": "Scatter"})
        points = data.pop("points", 2.0)
        outcomes = [("passed", "")] * passed + [("wrong", "sums")] * summed
        outcomes += [("not attempted", "")] * left
        subs = [submission(dict.fromkeys(titles, one)) for one in outcomes]
        exercises = [{"number": n, "title": t, "points": points} for n, t in titles.items()]
        grades = {"lesson": "02", "title": "Messages", "grader": label, "shard": "",
                  "exercises": exercises, "submissions": subs + data.pop("more", [])}  # fmt: skip
        (folder / "grades.json").write_text(json.dumps(grades | data))
        return folder

    return write


def test_wilsons_interval_holds_for_few_and_none() -> None:
    # E. B. Wilson's formula at 15 of 20 and 0 of 10, by hand.
    low, high = Share(15, 20).interval
    assert (low, high) == (pytest.approx(0.5313, abs=1e-4), pytest.approx(0.8881, abs=1e-4))
    assert Share(0, 10).interval == (0.0, pytest.approx(0.2775, abs=1e-4))
    assert Share(0, 0).interval == (0.0, 1.0) and Share(0, 0).value == 0.0


def test_newcombes_interval_is_that_of_his_paper() -> None:
    # Newcombe 1998, table II, method 10: 56/70 − 48/80 and 9/10 − 3/10.
    low, high = Change(Share(48, 80), Share(56, 70)).interval
    assert (low, high) == (pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4))
    low, high = Change(Share(3, 10), Share(9, 10)).interval
    assert (low, high) == (pytest.approx(0.1705, abs=1e-4), pytest.approx(0.8090, abs=1e-4))


def test_small_classes_are_not_read_too_closely(written: Written) -> None:
    few = [written("few/2025", 2, 3, 0), written("few/2026", 4, 1, 0)]
    many = [written("many/2025", 40, 60, 0), written("many/2026", 80, 20, 0)]
    verdicts = []
    for folders in (few, many):
        row = compare(read_terms(folders))[0].rows[0]
        verdicts.append(row.verdict(row.changes[0]))
    assert verdicts == ["", "better"]


def test_a_mistake_that_is_made_more_often_is_worse(written: Written) -> None:
    folders = [written("2025", 90, 5, 5), written("2026", 60, 35, 5)]
    rows = {row.what: row for row in compare(read_terms(folders))[0].rows}
    told = {what: row.verdict(row.changes[0]) for what, row in rows.items()}
    assert told == {"passed": "worse", "wrong": "worse", "not attempted": "", "sums": "worse"}
    shares = [share for share in rows["sums"].shares if share]
    assert [(share.count, share.of) for share in shares] == [(5, 100), (35, 100)]


def test_who_handed_in_nothing_or_was_not_graded_is_not_counted(written: Written) -> None:
    more = [
        submission({"02.1": ("missing", "")}, handed_in=False),
        submission({"02.1": ("crashed", "")}, note=FAILED),  # as it was called before
        submission({"02.1": ("not judged", "")}, note=FAILED),
        submission({"02.1": ("not judged", "")}),
        submission({"02.1": ("by hand", "")}),
        submission({"02.1": ("missing", "")}),
        submission({"02.1": ("time-out", "")}),
        submission({"02.1": ("error", "exception")}),
    ]
    (term,) = terms = read_terms([written("2025", 1, 1, 0, more=more)])
    (tally,) = term.tallies
    assert (tally.by_hand, tally.not_judged) == (1, 3)
    assert compare(terms)[0].notes == ("Not judged in 2025, or only by hand: 4, not counted here.",)
    assert (tally.judged, tally.passed, tally.wrong, tally.not_attempted) == (5, 1, 3, 1)
    assert tally.mistakes == {"sums": 1, "no end within the time": 1, "exception": 1}


def test_exercises_that_changed_are_told(written: Written) -> None:
    folders = [
        written("2024", 3, 1, 0, titles={"02.1": "Scatter", "02.2": "Ring"}),
        written("2025", 3, 1, 0, titles={"02.1": "Broadcast", "02.2": "Scatter"}, points=3.0),
        written("2026", 4, 0, 0, titles={"02.1": "Scatter", "02.2": "Ring"}),
    ]
    over = {one.title: one for one in compare(read_terms(folders))}
    assert list(over) == ["Scatter", "Ring", "Broadcast"]
    assert over["Scatter"].notes == (
        "Its number: 02.1 in 2024, 02.2 in 2025, 02.1 in 2026.",
        "Its points: 2 in 2024, 3 in 2025, 2 in 2026.",
    )
    assert "Not in 2025: the exercise of that number was 'Scatter' then." in over["Ring"].notes
    changes = over["Ring"].rows[0].changes
    assert changes[0] is None and changes[1] is not None  # with 2024, the last that had it
    assert changes[1].before.count == 3


def test_what_the_instructor_reads_is_left_out(written: Written) -> None:
    more = [submission({"02.1": ("by hand", "")})]
    terms = read_terms([written("2025", 0, 0, 0, more=more)])
    assert compare(terms) == []


def test_the_page_and_the_table(written: Written, tmp_path: Path) -> None:
    folders = [written("2025", 40, 60, 0), written("2026", 80, 18, 2, warning="Not sandboxed: x.")]
    lines = statistics(folders, tmp_path / "out")
    page = (tmp_path / "out" / "statistics.html").read_bytes()
    table = (tmp_path / "out" / "statistics.csv").read_text()
    assert not Tags(page).tags & {"script", "img"} and b"default-src 'none'" in page
    text = page.decode()
    for said in ("Lesson 02: Messages", "Scatter", "40 of 100", "(31 to 50)", "better", "stamp",
                 "+40 percentage points (+27 to +51)"):  # fmt: skip
        assert said in text, said
    for told in (text, table, "\n".join(lines)):
        assert NAME not in told
    header, *rows = csv.reader(io.StringIO(table))
    assert header == HEADER and len(rows) == 8
    assert rows[1][:7] == ["02.1", "Scatter", "2026", "passed", "80", "100", "0.8"]
    assert float(rows[1][9]) == 0.4 and rows[1][-1] == "better"
    assert float(rows[-1][9]) == -0.42  # a number, not a text
    assert any("passed by 2025: 40 % of 100, 2026: 80 % of 100" in line for line in lines)


def test_one_term_alone_and_terms_of_one_name(written: Written, tmp_path: Path) -> None:
    statistics([written("2025/grades", 3, 1, 0)], tmp_path / "out")
    assert "What changed" not in (tmp_path / "out" / "statistics.html").read_text()
    folders = [tmp_path / "2025" / "grades", written("2026/grades", 3, 1, 0)]
    assert [term.label for term in read_terms(folders)] == ["2025/grades", "2026/grades"]


def test_numbers_are_written_with_their_sign() -> None:
    assert [percent(x) for x in (0.344, 0.004, 0.0)] == ["34", "0.4", "0"]
    assert percent(-0.21, sign=True) == "−21" and percent(-0.003, sign=True) == "−0.3"
    assert difference(Change(Share(0, 9), Share(0, 9))).startswith("+0 percentage points (−30 to")


def test_bad_input_gets_a_sentence(written: Written, tmp_path: Path) -> None:
    good = written("2025", 1, 0, 0)
    bad = {
        "nothing": None,
        "damaged": "{",
        "another": "[]",
        "other": '{"lesson": "02", "shard": "", "submissions": [{}], "exercises": []}',
    }
    for name, text in bad.items():
        (tmp_path / name).mkdir()
        if text is not None:
            (tmp_path / name / "grades.json").write_text(text)
    for folders, said in (
        ([], "Name the folders of the terms"),
        ([good, good], "is named twice"),
        ([good, tmp_path / "nothing"], "holds no grades"),
        ([good, tmp_path / "nowhere"], "holds no grades"),
        ([tmp_path / "damaged"], "is damaged"),
        ([tmp_path / "another"], "is not what ./course grade writes"),
        ([tmp_path / "other"], "is not what ./course grade writes"),
        ([good, written("lesson 03", 1, 0, 0, lesson="03")], "name terms of one lesson"),
        ([written("part", 1, 0, 0, shard="1/2")], "join its parts by grade merge first"),
    ):
        with pytest.raises(GradingError, match=said):
            read_terms(folders)
    with pytest.raises(GradingError, match="is not a folder"):
        statistics([good], tmp_path / "damaged" / "grades.json")


def test_the_command(
    written: Written, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written("2025", 3, 1, 0)
    monkeypatch.setenv("COURSE_FROM", str(folder.parent))
    assert cli.main(["grade", "stats", "2025"]) == 0
    assert "02.1 Scatter: passed by 2025: 75 % of 4." in capsys.readouterr().out
    assert cli.main(["grade", "stats", "2024"]) == 2
    assert "holds no grades" in capsys.readouterr().err
