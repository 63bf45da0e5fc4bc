"""The tables and the files for other systems, read back by the programs that will read them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

from helpers.grade.grades import ExerciseGrade, Outcome, SubmissionGrade
from helpers.grade.overrides import Override
from helpers.grade.report.sheet import Column, Entry, Sheet
from helpers.grade.report.tables import canvas, grades_table, gradescope, moodle
from helpers.grade.report.write import write_reports
from helpers.grade.roster import Person, from_name

COLUMNS = (Column("02.1", "Scatter", 2.0), Column("02.2", "Broadcast", 2.5))
EVIL = "<img src=x onerror=alert(1)>"
FORMULA = '=HYPERLINK("http://x","A1")'
NAMES = ["ann, the first", FORMULA, "+1", "-1", "@SUM(1)", 'quo"te', EVIL, "0012", "1e5", "é 汉 🄰"]


def exercise(i: int, outcome: Outcome = "wrong", hint: str = "") -> ExerciseGrade:
    number, title, most = COLUMNS[i].number, COLUMNS[i].title, COLUMNS[i].points
    points = most if outcome == "passed" else 0.0
    reason = f"Not `right` {EVIL}."
    return ExerciseGrade(number, title, outcome, points, most, "sums", reason, hint)


def sheet(names: list[str] = NAMES, **changes: object) -> Sheet:
    """A class in which everybody has the first exercise right."""
    entries = []
    for i, name in enumerate(names):
        grades = (exercise(0, "passed"), exercise(1, hint=f"{FORMULA}\n{EVIL}"))
        grade = SubmissionGrade(name, "02", 5, "bubblewrap", grades, f"A {EVIL} note.")
        by_hand = (Override("02.2", 0.5, EVIL, 0.0),) if i == 0 else ()
        entries.append(Entry(f"s{i}", grade, by_hand, from_name(name), True, EVIL))
    made = Sheet("02", "Messages", "bubblewrap", "key", "grader", COLUMNS, tuple(entries))
    return replace(made, **changes)  # type: ignore[arg-type]


def rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


def test_grades_csv() -> None:
    header, *lines = rows(grades_table(sheet()))
    assert header == ["submission", "total", "max", "02.1", "02.2"]
    assert [line[0].removeprefix("'") for line in lines] == NAMES
    assert all(line[1:] == ["2", "4.5", "2", "0"] for line in lines)


def test_no_cell_begins_a_formula() -> None:
    for cell in ("=1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "＝1"):
        by_hand = (Override("02.1", 1, cell),)
        one = replace(sheet(["x"]).entries[0], person=Person(*[cell] * 8), overrides=by_hand)
        made = sheet(entries=(one,), canvas=cell)
        for line in (*rows(canvas(made)), *rows(moodle(made)), *rows(grades_table(made))):
            assert not any(value.startswith(tuple("=+-@\t\r\n＝")) for value in line)


def test_canvas_finds_students_and_the_column() -> None:
    jane = Person("Doe, Jane", "101", "S1", "jdoe", "A")
    one = replace(sheet(["jdoe"]).entries[0], person=jane)
    header, possible, line = rows(canvas(sheet(entries=(one,), canvas="Lesson 2 (991)")))
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lesson 2 (991)"]
    assert possible == ["    Points Possible", "", "", "", "", "4.5"]
    assert line == ["Doe, Jane", "101", "S1", "jdoe", "A", "2"]
    header, _, line = rows(canvas(sheet(["doejane_LATE_101_5_02_messages"])))
    assert header[-1] == "Lesson 02" and line[1] == "101"


def test_moodle_finds_students_and_gets_no_word_of_theirs() -> None:
    made = sheet(["Jane Doe_7001_assignsubmission_file_"])
    header, line = rows(moodle(made))
    cells = dict(zip(header, line, strict=True))
    assert cells["Identifier"] == "Participant 7001" and cells["Full name"] == "Jane Doe"
    assert cells["Grade"] == "2" and cells["Maximum Grade"] == "4.5"
    assert "Last modified (grade)" in header
    said = "02.1 Scatter: passed, 2 of 2; 02.2 Broadcast: wrong, 0 of 2.5"
    assert said in cells["Feedback comments"] and FORMULA not in cells["Feedback comments"]


def test_no_system_gets_points_for_what_was_not_judged() -> None:
    ann, bob = sheet(["ann", "bob"]).entries
    grades = (ann.grade.exercises[0], exercise(1, "not judged"))
    ann = replace(ann, overrides=(), grade=replace(ann.grade, exercises=grades))
    made = sheet(entries=(ann, bob))
    assert rows(grades_table(made))[1] == ["ann", "2", "4.5", "2", "not judged"]
    assert [line[0] for line in rows(canvas(made))[2:]] == ["bob"]
    header, line, _ = rows(moodle(made))
    cells = dict(zip(header, line, strict=True))
    said = "02.1 Scatter: passed, 2 of 2; 02.2 Broadcast: not judged"
    assert (cells["Grade"], cells["Feedback comments"]) == ("", said)
    told = gradescope(made, ann)
    assert told["score"] == 2.0 and told["output"].startswith("Not judged: 02.2. The score is")
    assert told["tests"][1]["name"] == "Broadcast (not judged)"
    assert told["tests"][1]["output"].startswith("This is no mistake of yours")


def test_gradescope_gets_plain_text() -> None:
    told = gradescope(sheet(), sheet().entries[0])
    assert {told[name] for name in told if name.endswith("_format")} == {"text"}
    first, second = told["tests"]
    assert (first["number"], first["score"], first["max_score"]) == ("02.1", 2.0, 2.0)
    assert first["status"] == "passed" and second["status"] == "failed"
    assert told["score"] == 2.0 and "Points set by your instructor" in second["output"]
    assert json.loads(json.dumps(told)) == told


def test_seeds_are_for_the_instructor_only(tmp_path: Path) -> None:
    seed, entry = 1234567890123456789, sheet(["ann"]).entries[0]
    entry = replace(entry, grade=replace(entry.grade, seed=seed))
    write_reports(sheet(entries=(entry,)), tmp_path)
    holding = [p.name for p in tmp_path.rglob("*") if p.is_file() and str(seed) in p.read_text()]
    assert holding == ["grades.json"]
