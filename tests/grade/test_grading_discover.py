"""Which submissions there are, whose they are, and the seeds of their hidden cases."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_grader import FILE, hand_in, notebook

from helpers.grade import seeds
from helpers.grade.discover import Submission, discover
from helpers.grade.files import OURS, file_name, printable
from helpers.grade.roster import ABSENT, read_roster, whose
from helpers.grade.wish import GradingError


def by_name(folder: Path) -> dict[str, Submission]:
    return {one.name: one for one in discover(folder, "02")}


def test_folders_and_files(tmp_path: Path) -> None:
    path = hand_in(tmp_path, "ann")
    for name in ("ann", "bob", "carl", ".hidden"):
        (tmp_path / f"{name}.ipynb").write_text(notebook())
    (tmp_path / "carl").mkdir()
    (tmp_path / "roster.csv").write_text("ann")
    for skipped in (".git", "__MACOSX", "ann/.ipynb_checkpoints"):
        hand_in(tmp_path, skipped)
    there = {one.name: one for one, _ in whose(discover(tmp_path, "02"), None, FILE)}
    files = {name: tmp_path / f"{name}.ipynb" for name in ("bob", "carl")}
    assert {name: one.path for name, one in there.items()} == {"ann": path, **files}
    assert f"ann/{FILE} was graded, since its name is the lesson's" in there["ann"].taken
    assert "carl.ipynb was graded, since it alone is a notebook" in there["carl"].taken
    assert not there["bob"].taken
    with pytest.raises(GradingError, match="There is no lesson 77"):
        discover(tmp_path, "77")


@pytest.mark.parametrize(
    ("names", "taken", "note"),
    [
        ([FILE, "other.ipynb"], FILE, ""),
        (["02_mine.ipynb", "notes.ipynb"], "02_mine.ipynb", "is called 02_mine.ipynb here"),
        (["02 (1).ipynb", "03.ipynb"], "02 (1).ipynb", "is called"),
        (["mine.IPYNB"], "mine.IPYNB", "is called"),
        (["02_a.ipynb", "02_b.ipynb"], None, "Several notebooks could be 02_messages.ipynb"),
        (["a.ipynb", "b.ipynb"], None, "Several notebooks"),
        (["answers.py"], None, "no 02_messages.ipynb, but 1 other file: answers.py. Hand in"),
        (["02_messages.ipynb.txt"], "02_messages.ipynb.txt", "is called"),
        (["02_messages.ipynb.json", "a.py"], "02_messages.ipynb.json", "is called"),
        ([*"abcdefg", "x.zip"], None, "8 other files: a, b, c, d, e and 3 more. Unpack what is"),
        (
            [f"{n}.ipynb" for n in "abcdefg"],
            None,
            "and 2 more), and none was graded; leave one. If",
        ),
        (["02/02_messages.ipynb", "03/03_data.ipynb"], "02/02_messages.ipynb", ""),
        (["a.ipynb/02_messages.ipynb"], "a.ipynb/02_messages.ipynb", ""),
        (["old/02_messages.ipynb", "02_mine.ipynb"], "old/02_messages.ipynb", ""),
        (["a/02_messages.ipynb", "b/02_messages.ipynb"], None, "(a/02_messages.ipynb, b/02_"),
        (["a/b/02_messages.ipynb"], None, "The folder holds no 02_messages.ipynb."),
        ([], None, "The folder holds no 02_messages.ipynb."),
    ],
)
def test_the_notebook_in_a_folder(
    tmp_path: Path, names: list[str], taken: str | None, note: str
) -> None:
    (tmp_path / "ann").mkdir()
    for name in names:
        (tmp_path / "ann" / name).parent.mkdir(exist_ok=True, parents=True)
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
        assert there[name].note == "The notebook is not a regular file: put the file itself there."


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
        order = {"do": "die"} if "differs" in said else {}
        path.with_name(copy).write_text(notebook(**order))
    (ann,) = discover(tmp_path, "02")
    assert ann.path == path
    assert f"{FILE} was graded, since it has the lesson's own name" in ann.taken
    assert f"{copy} ({said})" in ann.taken


@pytest.mark.parametrize("copy", ["ann (1)", "ann-1", "ann - Copy", "ann copy 2", "Copy of ann"])
def test_files_that_may_be_one_students_are_both_graded_and_told(tmp_path: Path, copy: str) -> None:
    for name in ("ann", copy, "anna", "bob"):
        (tmp_path / f"{name}.ipynb").write_text(notebook())
    there = by_name(tmp_path)
    told = {name for name, one in there.items() if f"{copy}.ipynb is called" in one.taken}
    assert told == {"ann", copy} and all(one.path for one in there.values())


def test_names_may_hold_anything(tmp_path: Path) -> None:
    raws = [b"new\nline", rb"new\nline", b"bad\xff", b"turn\xe2\x80\xaeed", b"<b>&amp;", b"=1+1"]
    for name in (*raws, b"\xc3\xa9"):
        os.makedirs(os.path.join(os.fsencode(tmp_path), name))
    there = by_name(tmp_path)
    assert list(there) == [
        "<b>&amp;", "=1+1", r"bad\udcff", r"new\nline", r"new\nline (2)", r"turn\u202eed", "é"
    ]  # fmt: skip
    assert all(name.isprintable() for name in there)
    assert len({one.id for one in there.values()}) == 7
    for raw in ("ann", "../../etc", "é" * 90, "a/b", "", "\udcff", "CON", "-rf"):
        name = file_name(raw)
        assert OURS.fullmatch(name) and len(name) <= 49 and file_name(raw + "x") != name
    assert printable("a\n\tb\x1b[0m", lines=True) == "a\n\tb\\x1b[0m"


CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Lesson 02 (991),Lesson 12 (992)
    Points Possible,,,,,15,10
"Doe, Jane",101,S1,jdoe,A,,
"Roe, Ann",102,S2,aroe,A,,
"Poe, Bob",103,S3,bpoe,B,,
"Same, Name",104,S4,same1,B,,
"Same, Name",105,S5,same2,B,,
"""
MOODLE = """Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade)
Participant 7001,Jane Doe,jane@example.org,Submitted,,15,-
Participant 7002,Ann Roe,ann@example.org,Submitted,,15,-
"""


@pytest.mark.parametrize(
    ("listed", "handed_in", "people"),
    [
        (
            "\ufeff" + CANVAS,
            # A name that two have belongs to neither; one person's two submissions are one.
            ["jdoe", "roeann_LATE_102_5555_02_messages-1", "stranger", "Name Same", "same1", "S4"],
            {
                "bpoe": "Poe, Bob",
                "jdoe": "Doe, Jane",
                "Name Same": None,
                "roeann_LATE_102_5555_02_messages-1": "Roe, Ann",
                "S4": "Same, Name",
                "same2": "Same, Name",
                "stranger": None,
            },
        ),
        (
            MOODLE,
            ["Jane Doe_7001_assignsubmission_file_"],
            {"Ann Roe": "Ann Roe", "Jane Doe_7001_assignsubmission_file_": "Jane Doe"},
        ),
    ],
)
def test_a_class_list_says_whose_they_are_and_who_is_missing(
    tmp_path: Path, listed: str, handed_in: list[str], people: dict[str, str | None]
) -> None:
    folder, path = tmp_path / "submissions", tmp_path / "class.csv"
    path.write_text(listed, encoding="utf-8")
    for name in handed_in:
        hand_in(folder, name)
    roster = read_roster(path, "02")
    here = whose(discover(folder, "02"), roster)
    assert {one.name: person.name if person else None for one, person in here} == people
    absent = [one for one, _ in here if one.path is None]
    assert {one.name for one in absent} == people.keys() - {*handed_in}
    assert {one.note for one in absent} == {ABSENT}
    assert roster.canvas == ("Lesson 02 (991)" if "991" in listed else "")


def test_a_plain_list_and_what_is_none(tmp_path: Path) -> None:
    roster = tmp_path / "class.csv"
    with pytest.raises(GradingError, match="cannot be read"):
        read_roster(roster, "02")
    for data, said in ((b"", "is empty"), (b"\xff\xfe", "is not in UTF-8")):
        roster.write_bytes(data)
        with pytest.raises(GradingError, match=said):
            read_roster(roster, "02")
    for text in ("ann\nbob\n", "name\nann\n\nbob\nbob\n", "Login;x\nann;1\nbob;2\n"):
        roster.write_text(text)
        assert [one.called for one in read_roster(roster, "02").people] == ["ann", "bob"]


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
    (tmp_path / "key").write_bytes(b"password")
    for name, said in (("key", "has 8 bytes; it needs 32"), ("nokey", "cannot be read")):
        with pytest.raises(GradingError, match=said):
            seeds.load_key(tmp_path / name)
