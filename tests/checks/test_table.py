"""Wrong answers as a table: what is said of one that cannot be read, and what a release holds.

What patches make is held where each answer is told its own: `test_exercises`.
"""

from __future__ import annotations

from typing import Any

import pytest

from helpers.checks import everything
from helpers.checks.known import said
from helpers.checks.spec import Case, Observation, first_said
from helpers.checks.table import Answers, TableError, wrong_answers
from helpers.grade.release.pack import blind
from helpers.rooms import folder

SPEC = folder("02") / "exercises" / "broadcast.py"


def area(width: int, height: int) -> int:
    doubled = 2 * width * height
    if doubled > 0 and width > 0:
        doubled += 0
    return doubled // 2


def other_idea(width: int, height: int) -> int:
    return width + height


def look(case: Case, seen: Observation) -> str:
    return f"it gave {seen.values[0]}."


def read(table: str, base: Any = area, *named: Any, **texts: Any) -> Answers:
    return wrong_answers("99.1", table, base, *named, **texts)


def test_a_traceback_shows_the_changed_line() -> None:
    import traceback

    (one,) = read("divided by nothing\n    | // 2 => // (2 - 2)\n    ? x")
    with pytest.raises(ZeroDivisionError) as caught:
        one.function(2, 3)
    assert "return doubled // (2 - 2)" in "".join(traceback.format_tb(caught.tb))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("a\n    | height * height => 1\n    b", "“a”, line 2 of its table: `height * height`"),
        ("a\n    | doubled => 1\n    b", "`doubled` occurs 4 times in `area` of"),
        ("a\n    | nothing *=> 1\n    b", "`nothing` does not occur"),
        ("a\n    | width\n    b", "`width` is no patch: write `old => new`"),
        ("a\n    | => width\n    b", "`=> width` is no patch"),
        ("a\n    | // 2 => // (\n    b", "`area` is no Python any more"),
        ("a\n    | // 2 => // 3", "“a”, line 1 of its table: nothing says what it is told"),
        ("a\n    | // 2 => // 3\n    b\n    ? c", "more than one line says what it is told"),
        ("a\n    a sentence", "nothing says what it does"),
        ("a\n    = nobody\n    b", "line 2 of its table: there is no `nobody` here"),
        ("a\n    | // 2 => // 3\n    ! nobody", "there are: `other_idea`"),
        ("a\n    = other_idea\n    | // 2 => // 3\n    b", "one function, or patches"),
        ("a\n    = other_idea\n    b\na\n    = other_idea\n    c", "the name stands there twice"),
        ("    | // 2 => // 3\na\n    b", "`| // 2 => // 3` stands under no name"),
    ],
)  # fmt: skip
def test_what_is_said_of_one_that_cannot_be_read(table: str, words: str) -> None:
    if table.startswith(" "):
        table = "\n    | // 2 => // 3\na\n    b"
    with pytest.raises(TableError) as caught:
        read(table, area, other_idea)
    assert str(caught.value).startswith("Exercise 99.1,") and words in str(caught.value)


def test_a_release_holds_the_names_and_sentences_and_no_patch() -> None:
    text = SPEC.read_text(encoding="utf-8")
    cut = blind(text)
    exercise = cut[cut.index("EXERCISE = ") :]
    assert "=>" not in exercise and "naive" not in exercise and "? which never" not in exercise
    names: dict[str, Any] = {"__name__": "spec"}
    exec(compile(cut, "spec", "exec"), names)
    held = {answer.name: answer.says for answer in names["EXERCISE"].wrong}
    whole = next(e for e in everything() if e.number == "02.2").wrong
    assert held == {answer.name: answer.says for answer in whole if answer.says}


def test_the_first_that_is_wrong_decides_and_stands_behind_the_case() -> None:
    case, seen = Case("On 2 ranks", ((),)), Observation(values=[3])

    def several(case: Case, seen: Observation) -> Any:
        yield None
        yield "`x` is wrong."
        raise AssertionError("Nobody asks for the second.")

    assert first_said(several, case, seen) == "On 2 ranks, `x` is wrong."
    assert first_said(look, case, seen) == "On 2 ranks, it gave 3."
    assert first_said(lambda case, seen: "It stands alone.", case, seen) == "It stands alone."
    assert first_said(lambda case, seen: iter([None]), case, seen) is None
    rows = Case("17 rows", ())
    assert first_said(lambda case, seen: "17 rows, it gave 3.", rows, seen) == "17 rows, it gave 3."
    (one,) = read("a\n    = other_idea\n    ! look", area, other_idea, look)
    assert said(everything()[0], one, case, seen) == "On 2 ranks, it gave 3."
