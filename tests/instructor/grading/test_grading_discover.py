"""Which submissions there are, whose they are, and the seeds of their hidden cases."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_grader import FILE, hand_in, notebook

from helpers.instructor.grading import GradingError, seeds
from helpers.instructor.grading.assemble import ABSENT, whose
from helpers.instructor.grading.discover import Submission, discover
from helpers.instructor.grading.files import OURS, file_name, printable
from helpers.instructor.grading.roster import read_roster


def by_name(folder: Path) -> dict[str, Submission]:
    return {one.name: one for one in discover(folder, "02")}


def test_folders_and_files(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "ann")
    (tmp_path / "bob.ipynb").write_text(notebook())
    (tmp_path / "roster.csv").write_text("ann")
    (tmp_path / ".hidden.ipynb").write_text(notebook())
    for skipped in (".git", "__MACOSX"):
        hand_in(tmp_path, skipped)
    hand_in(tmp_path, "ann/.ipynb_checkpoints")
    assert [one.name for one in discover(tmp_path, "02")] == ["ann", "bob"]
    assert by_name(tmp_path)["ann"].path == path


@pytest.mark.parametrize(
    ("names", "taken", "note"),
    [
        ([FILE, "other.ipynb"], FILE, ""),
        (["02_mine.ipynb", "notes.ipynb"], "02_mine.ipynb", "is called 02_mine.ipynb here"),
        (["02 (1).ipynb", "03.ipynb"], "02 (1).ipynb", "is called"),
        (["mine.IPYNB"], "mine.IPYNB", "is called"),
        (["02_a.ipynb", "02_b.ipynb"], None, "Several notebooks could be 02_messages.ipynb"),
        (["a.ipynb", "b.ipynb"], None, "Several notebooks"),
        (["answers.py"], None, "The folder holds no 02_messages.ipynb."),
        ([], None, "The folder holds no 02_messages.ipynb."),
    ],
)
def test_the_notebook_in_a_folder(
    tmp_path: Path, names: list[str], taken: str | None, note: str
) -> None:
    (tmp_path / "ann").mkdir()
    for name in names:
        (tmp_path / "ann" / name).write_text(notebook())
    (ann,) = discover(tmp_path, "02")
    assert ann.path == (tmp_path / "ann" / taken if taken else None)
    assert note in ann.note and bool(note) == bool(ann.note)


def test_links_pipes_and_folders_are_not_read(tmp_path: Path) -> None:
    elsewhere = hand_in(tmp_path / "elsewhere", "carl")
    folder = tmp_path / "submissions"
    folder.mkdir()
    (folder / "folder").symlink_to(elsewhere.parent)
    (folder / "file.ipynb").symlink_to(elsewhere)
    (folder / "inside").mkdir()
    (folder / "inside" / FILE).symlink_to(elsewhere)
    os.mkfifo(folder / "pipe.ipynb")
    (folder / "deep" / FILE).mkdir(parents=True)
    there = by_name(folder)
    assert [one.path for one in there.values()] == [None] * 5
    for name in ("folder", "file", "inside"):
        assert "is a symbolic link, and links are not followed" in there[name].note
    for name in ("pipe", "deep"):
        assert there[name].note == "The notebook is not a regular file."


def test_a_folder_and_a_file_of_one_student(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "ann")
    (tmp_path / "ann.ipynb").write_text(notebook())
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob.ipynb").write_text(notebook())
    there = by_name(tmp_path)
    assert there["ann"].path == path and "the folder was graded" in there["ann"].taken
    assert there["bob"].path == tmp_path / "bob.ipynb"


@pytest.mark.parametrize(
    ("copy", "said"),
    [
        ("02_messages (1).ipynb", "the same file"),
        ("02_messages-1.ipynb", "which differs from it"),
        ("Copy of 02_messages.ipynb", "which was not read"),
    ],
)
def test_of_two_notebooks_it_is_told_which_was_taken_and_why(
    tmp_path: Path, copy: str, said: str
) -> None:
    path = hand_in(tmp_path, "ann")
    if said == "which was not read":
        path.with_name(copy).symlink_to("/dev/zero")
    else:
        path.with_name(copy).write_text(notebook(do="die" if "differs" in said else ""))
        path.write_text(notebook(do=""))
    (ann,) = discover(tmp_path, "02")
    assert ann.path == path
    assert f"{FILE} was graded, since it has the lesson's own name" in ann.taken
    assert f"{copy} ({said})" in ann.taken


@pytest.mark.parametrize("copy", ["ann (1)", "ann-1", "ann - Copy", "ann copy 2", "Copy of ann"])
def test_files_that_may_be_one_students_are_both_graded_and_told(tmp_path: Path, copy: str) -> None:
    for name in ("ann", copy, "anna", "bob"):
        (tmp_path / f"{name}.ipynb").write_text(notebook())
    told = {one.name for one in discover(tmp_path, "02") if f"{copy}.ipynb is called" in one.taken}
    assert told == {"ann", copy}
    assert all(one.path for one in discover(tmp_path, "02"))


def test_names_may_hold_anything(tmp_path: Path) -> None:
    for name in (
        b"new\nline",
        b"bad\xff",
        b"turn\xe2\x80\xaeed",
        b"<b>&amp;",
        b"=1+1",
        b"\xc3\xa9",
    ):
        os.makedirs(os.path.join(os.fsencode(tmp_path), name))
    names = [one.name for one in discover(tmp_path, "02")]
    assert names == ["<b>&amp;", "=1+1", r"bad\udcff", r"new\nline", r"turn\u202eed", "é"]
    assert all(name.isprintable() for name in names)


def test_names_that_look_the_same_are_told_apart(tmp_path: Path) -> None:
    for name in (b"x\n", rb"x\n"):
        os.makedirs(os.path.join(os.fsencode(tmp_path), name))
    one, other = discover(tmp_path, "02")
    assert (one.name, other.name) == (r"x\n", r"x\n (2)")
    assert one.id != other.id


def test_file_names_are_plain() -> None:
    for raw in ("ann", "../../etc", "é" * 90, "a/b", "", "\udcff", "CON", "-rf"):
        name = file_name(raw)
        assert OURS.fullmatch(name) and len(name) <= 49 and file_name(raw + "x") != name


def test_printable_keeps_lines_where_asked() -> None:
    assert printable("a\n\tb\x1b[0m", lines=True) == "a\n\tb\\x1b[0m"
    assert printable("a\nb") == "a\\nb"


CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Lesson 02 (991),Lesson 12 (992)
    Points Possible,,,,,15,10
"Doe, Jane",101,S1,jdoe,A,,
"Roe, Ann",102,S2,aroe,A,,
"Poe, Bob",103,S3,bpoe,B,,
"""
MOODLE = """Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade)
Participant 7001,Jane Doe,jane@example.org,Submitted,,15,-
Participant 7002,Ann Roe,ann@example.org,Submitted,,15,-
"""


def test_a_canvas_export_says_who_is_missing(tmp_path: Path) -> None:
    folder, roster = tmp_path / "submissions", tmp_path / "class.csv"
    roster.write_text("\ufeff" + CANVAS, encoding="utf-8")
    hand_in(folder, "jdoe")
    folder.joinpath("roeann_LATE_102_5555_02_messages-1.ipynb").write_text(notebook())
    hand_in(folder, "stranger")
    listed = read_roster(roster, "02")
    here = whose(discover(folder, "02"), listed)
    assert {one.name: person.name if person else None for one, person in here} == {
        "bpoe": "Poe, Bob",
        "jdoe": "Doe, Jane",
        "roeann_LATE_102_5555_02_messages-1": "Roe, Ann",
        "stranger": None,
    }
    assert here[0][0].path is None and here[0][0].note == ABSENT
    assert listed.canvas == "Lesson 02 (991)"


def test_a_moodle_worksheet_knows_moodles_folders(tmp_path: Path) -> None:
    folder, roster = tmp_path / "submissions", tmp_path / "class.csv"
    roster.write_text(MOODLE)
    hand_in(folder, "Jane Doe_7001_assignsubmission_file_")
    here = whose(discover(folder, "02"), read_roster(roster, "02"))
    assert [person.participant for _, person in here if person] == [
        "Participant 7002",
        "Participant 7001",
    ]
    assert [one.name for one, _ in here if one.path is None] == ["Ann Roe"]


@pytest.mark.parametrize(
    "text", ["ann\nbob\n", "name\nann\n\nbob\nbob\n", "Login;x\nann;1\nbob;2\n"]
)
def test_a_plain_list(tmp_path: Path, text: str) -> None:
    roster = tmp_path / "class.csv"
    roster.write_text(text)
    assert [one.called for one in read_roster(roster, "02").people] == ["ann", "bob"]


def test_a_name_that_two_have_belongs_to_neither(tmp_path: Path) -> None:
    roster = tmp_path / "class.csv"
    roster.write_text('Student,ID,SIS Login ID\n"Doe, Jane",1,jd1\n"Doe, Jane",2,jd2\n')
    people = read_roster(roster, "02")
    assert people.match(["Jane Doe", "jd2", "doejane_2_55_x"])[0] is None
    matched = people.match(["jd2", "doejane_2_55_x"])
    assert matched[0] is not None and matched[0].canvas_id == "2"
    assert matched[1] is None  # the first one has it


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "is empty"), (b"\xff\xfe", "is not in UTF-8"), (None, "cannot be read")],
)
def test_a_bad_class_list_is_told(tmp_path: Path, data: bytes | None, said: str) -> None:
    roster = tmp_path / "class.csv"
    if data is not None:
        roster.write_bytes(data)
    with pytest.raises(GradingError, match=said):
        read_roster(roster, "02")


def test_seeds_repeat_and_differ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    key = seeds.load_key(None)
    assert key == seeds.load_key(None) and len(key) == 32
    assert seeds.key_file().stat().st_mode & 0o777 == 0o600
    drawn = {seeds.seed(key, lesson, f"s{i}") for lesson in ("02", "03") for i in range(500)}
    assert len(drawn) == 1000 and 0 not in drawn and max(drawn) < 2**63
    assert seeds.seed(key, "02", "ann") == seeds.seed(key, "02", "ann")
    assert seeds.seed(bytes(32), "02", "ann") != seeds.seed(key, "02", "ann")
    assert seeds.fingerprint(key) != seeds.fingerprint(bytes(32))


def test_a_short_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"password")
    with pytest.raises(GradingError, match="has 8 bytes; it needs 32"):
        seeds.load_key(tmp_path / "key")
    with pytest.raises(GradingError, match="cannot be read"):
        seeds.load_key(tmp_path / "nokey")
