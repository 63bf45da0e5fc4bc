"""Who hands in more than one thing has one row: importers take a student's last row."""

from __future__ import annotations

import csv
import unicodedata
from pathlib import Path

import pytest
from fake_grader import FILE, notebook
from fake_slots import Class

from helpers.grade.discover import COPY
from helpers.grade.files import of_system

DECOMPOSED = unicodedata.normalize("NFD", "zoë")
MOODLE = "Jane Doe_7001_assignsubmission"
D2L = "54-77 - Jane Doe - Nov {}, 2026 {}"
BLACKBOARD = "gradebook_101_Lesson_02_jdoe_attempt_2026-11-{}-10-00-00"


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(notebook(name=name) if ".ipynb" in name else "text")


def rows(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text().splitlines()))


@pytest.mark.parametrize(
    ("names", "graded", "why"),
    [
        (
            ["raybob_777_68000_02_messages.ipynb", "raybob_777_68001_notes.ipynb"],
            "raybob_777_68000_02_messages",
            "its name is the lesson's; not raybob_777_68001_notes.ipynb (which differs from it)",
        ),
        (
            ["raybob_777_68000_02_messages.ipynb", "raybob_LATE_777_68002_02_messages-1.ipynb"],
            "raybob_LATE_777_68002_02_messages-1",
            "it came last; not raybob_777_68000_02_messages.ipynb (which differs",
        ),
        (
            ["raybob_777_68009_answers.zip", "raybob_777_68001_02_messages.ipynb"],
            "raybob_777_68001_02_messages",
            "it alone is a notebook; not raybob_777_68009_answers (which was not read)",
        ),
        (
            [f"{MOODLE}_onlinetext_/onlinetext.html", f"{MOODLE}_file_/{FILE}"],
            f"{MOODLE}_file_",
            "it alone is a notebook",
        ),
        (
            [f"{MOODLE}_file_02_messages.ipynb", f"{MOODLE}_file_a.ipynb"],
            f"{MOODLE}_file_02_messages",
            "its name is the lesson's",
        ),
        (
            [f"{D2L.format(9, '955 AM')}/{FILE}", f"{D2L.format(10, '155 PM')}/{FILE}"],
            D2L.format(10, "155 PM"),
            "it came last",
        ),
        (
            [f"{D2L.format(29, '1110 PM')} - x.ipynb", f"{D2L.format(29, '110 PM')} - {FILE}"],
            f"{D2L.format(29, '110 PM')} - 02_messages",
            "its name is the lesson's",
        ),
        (
            [f"{BLACKBOARD.format(i)}_02_messages.ipynb" for i in ("29", "28")]
            + [f"{BLACKBOARD.format('29')}.txt"],
            f"{BLACKBOARD.format('29')}_02_messages",
            "it came last",
        ),
        (
            ["zoë.ipynb", f"{DECOMPOSED}/{FILE}"],
            "zoë",
            f"zoë/{FILE} was graded, since its name is the lesson's; not zoë.ipynb (which",
        ),
        (["ann/a.zip", "ann.ipynb"], "ann", "it alone is a notebook; not ann (which was not read)"),
        (["ann.ipynb.txt", "ann.ipynb"], "ann", "ann.ipynb was graded, since its name comes first"),
    ],
)
def test_one_row_a_person_and_the_double_is_named(
    a_class: Class, names: list[str], graded: str, why: str
) -> None:
    put(a_class.folder, *names, "bob.ipynb")
    a_class.grade()
    assert set(a_class.totals) == {"bob", graded}
    found = a_class.one(graded)
    assert f"{len(names)} submissions are one person's: {graded}" in found["taken"]
    assert why in found["taken"] and found["handed_in"]
    assert [len(rows(a_class.out / f"{one}.csv")) for one in ("canvas", "moodle")] == [4, 3]
    assert found["taken"] in (a_class.out / f"students/{found['id']}.html").read_text().replace(
        "&#39;", "'"
    )


def test_the_class_list_finds_names_and_doubles(a_class: Class, tmp_path: Path) -> None:
    roster = tmp_path / "class.csv"
    roster.write_text(
        "Student,ID,SIS Login ID\nZoë Lee,1,zoë\nRoe,2,roe\nJane Doe,3,jdoe\nKim,4,kim\n"
    )
    put(a_class.folder, f"{DECOMPOSED}.ipynb", "Zoë Lee.ipynb", "roe.zip", "notes.txt", "kim.zip")
    put(a_class.folder, "ROE.ipynb.txt", f"{BLACKBOARD.format('01')}/{FILE}", "gone.csv", "x.part")
    done = a_class.grade(roster=roster)
    assert [one.name for one in done.strays] == ["notes"]
    table = rows(a_class.out / "canvas.csv")[2:]
    assert sorted(row[1] for row in table) == ["1", "2", "3", "4"]
    assert "no notebook, but 1 other file: kim.zip. Unpack" in a_class.one("kim")["note"]
    assert "The notebook is called ROE.ipynb.txt here." in a_class.one("ROE")["found"]
    assert "In no table" in (a_class.out / "class.html").read_text()
    a_class.overrides(f"{DECOMPOSED},02.1,1,")
    assert a_class.grade(roster=roster).graded == 0


HEADS = {
    "canvas": "eve_LATE_778_68000_",
    "moodle": "Eve_7002_assignsubmission_file_",
    "blackboard": "Lesson 02_eve_attempt_2026-11-29-10-00-00_",
    "brightspace": "54-78 - Eve - Nov 29, 2026 422 PM - ",
}


@pytest.mark.parametrize("system", HEADS)
@pytest.mark.parametrize("other", HEADS.values())
def test_who_calls_a_file_like_anothers_stays_who_it_is(system: str, other: str) -> None:
    found, said = of_system(f"{HEADS[system]}{other.replace('eve', 'jane')}x")
    assert found == system and said["file"].endswith("x") and len(said["file"]) > 10


@pytest.mark.parametrize("name", ["ann_02_2026_hw", "ann", "a - b - Nov 3, 2026 300 PM", "x_1_2"])
def test_a_name_of_somebodys_own_is_no_systems(name: str) -> None:
    assert of_system(name)[0] == ("canvas" if name.endswith("hw") else "")


def test_names_like_a_systems_are_two_people_where_they_differ(a_class: Class) -> None:
    put(a_class.folder, "ann_02_2026_hw.ipynb", "bob_02_2026_hw.ipynb", "ann (1).ipynb")
    put(a_class.folder, "ann.ipynb", "ann-checkpoint.ipynb")
    a_class.grade()
    assert len(a_class.totals) == 5
    assert COPY.fullmatch("ann-checkpoint")[1] == "ann"  # type: ignore[index]
