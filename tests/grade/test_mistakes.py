"""`./course grade --mistakes`: a class's own table, what is said of one that cannot be used, and
the answers that no table knows, on the class page."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.checks import find, of_lesson
from helpers.checks.table import TableError
from helpers.grade.grades import ExerciseGrade, SubmissionGrade
from helpers.grade.judge.verdicts import did, is_known
from helpers.grade.mistakes import learned, parts, read
from helpers.grade.report.class_view import unknown
from helpers.grade.report.pages import class_page
from helpers.grade.report.sheet import Column, Entry, Sheet
from helpers.grade.roster import Person
from helpers.grade.wish import GradingError
from tests.checks.table import verdict
from tests.grade.judge.here import JudgeHere, references

TABLE = """# Seen in the class of this year.

[02.2]
doubles too late
    | have *= 2 => have += 1
    the tree grows by one a round: {rounds} rounds are enough on {n} ranks.
[13.1]
of another lesson
    | nothing at all => something
    and so nobody looks at it.
"""


def late(comm, tensor, root):
    """As in the table, by somebody else."""
    place, step = (comm.rank - root) % comm.size, 1
    while step < comm.size:
        if place < step and place + step < comm.size:
            comm.send(tensor, (place + step + root) % comm.size)
        elif step <= place < 2 * step:
            comm.recv((place - step + root) % comm.size, into=tensor)
        step = step + 1


def test_whoever_does_what_the_table_says_is_told_its_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = verdict(find("02.2"), late)
    assert before.status == "wrong" and not is_known(find("02.2"), before.mistake)
    judge = JudgeHere(monkeypatch, "02", {**references("02"), "02.2": late})
    unnamed = judge.grade()
    judge.judge.learn(TABLE)
    named = judge.grade()
    assert [e.points for e in unnamed.exercises] == [e.points for e in named.exercises]
    one, two = unnamed.exercises[1], named.exercises[1]
    assert (one.mistake in ("", "deadlock"), bool(one.did)) == (True, True)
    assert (two.mistake, two.did) == ("doubles too late", "")
    assert two.hint.endswith("the tree grows by one a round: 3 rounds are enough on 5 ranks.")


def test_lines_have_the_numbers_of_the_file() -> None:
    assert [number for number, _ in parts(TABLE)] == ["02.2", "13.1"]
    broken = TABLE.replace("have *= 2", "halve")
    with pytest.raises(TableError, match="“doubles too late”, line 5 of its table: `halve` does"):
        learned(of_lesson("02"), broken)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("a mistake\n    | x => y\n", "line 1, `a mistake`: write the exercise's number, [02.2]."),
        ("[02.9]\na\n    | x => y\n    b\n", "[02.9]: lesson 02 has no such exercise"),
        ("[02.2]\na\n    = other\n    b\n", "line 3: `=` is for the course's own tables"),
        ("[02.2]\na\n    | have *= 2 => have += 1\n    ? b\n", "line 4: `?` is for the course's"),
        ("[02.2]\na\n    | have *= 2 => have += 1\n", "nothing says what it is told"),
        (
            "[02.2]\na\n    | have *= 2 => have = have * 2\n    b\n",
            "the answer is right in",
        ),
        ("[02.2]\na\n    | have *= 2 => have += 1\n    {nobody} did.\n", "cannot be filled in"),
        (
            "[02.2]\nnever waits\n    | have *= 2 => have += 1\n    b\n",
            "the course has a mistake of that name",
        ),
    ],
)
@pytest.mark.real
def test_what_is_said_of_a_table_that_cannot_be_used(
    tmp_path: Path, table: str, words: str
) -> None:
    path = tmp_path / "mistakes.txt"
    with pytest.raises(GradingError, match="cannot be read as a table of mistakes"):
        read(path, "02")
    path.write_text(table, encoding="utf-8")
    with pytest.raises(GradingError) as caught:
        read(path, "02")
    assert str(path) in str(caught.value) and words in str(caught.value)


@pytest.mark.real
def test_a_good_one_is_taken(tmp_path: Path) -> None:
    (tmp_path / "mistakes.txt").write_text(TABLE, encoding="utf-8")
    assert read(tmp_path / "mistakes.txt", "02") == TABLE


def test_did_is_the_same_for_what_did_the_same() -> None:
    from tests.checks.table import Table

    exercise = find("02.2")
    table, case = Table(exercise), exercise.cases(0)[0]
    words = [
        did(exercise, case, table.see(function, case))
        for function in (late, exercise.wrong[0].function, exercise.reference)
    ]
    assert len(set(words)) == 3 and did(exercise, case, table.see(late, case)) == words[0]


def test_the_class_page_puts_together_who_did_the_same() -> None:
    def a_sheet(*dids: str) -> Sheet:
        """A class of one exercise, of which each did something. "": it passed."""
        entries = []
        for number, word in enumerate(dids):
            hint, outcome = (f"it did <{word}>.", "wrong") if word else ("", "passed")
            one = ExerciseGrade("02.2", "A tree", outcome, 0.0, 3.0, hint=hint, did=word)
            grade = SubmissionGrade(f"student {number}", "02", 1, "none", (one,))
            entries.append(Entry(f"id{number}", grade, (), Person(), True))
        columns = (Column("02.2", "A tree", 3.0),)
        return Sheet("02", "Messages", "none", "print", "version", columns, tuple(entries))

    sheet = a_sheet("x", "", "y", "x", "", "x")
    assert [[entry.id for entry in group.who] for group in unknown(sheet)] == [
        ["id0", "id3", "id5"],
        ["id2"],
    ]
    page = class_page(sheet).decode()
    assert "What no mistake recognised" in page and "it did &lt;x&gt;." in page
    assert "What no mistake recognised" not in class_page(a_sheet("", "")).decode()
