"""The golden table of what answers are told, and the mutants in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.checks import everything, find
from tests.checks import verdicts
from tests.checks.mutants import mutants, needed
from tests.checks.verdicts import Row, differences, passing, plain, read, rows, write

TOLD: list[Row] = [
    ("02.2", "mutant", "tree: 1 → 2", 0, "passed", "", "Passed."),
    ("02.2", "mutant", "tree: 1 → 2", 1, "passed", "", "Passed."),
    ("02.2", "mutant", "tree: 1 → 2", 2, "passed", "", "Passed."),
    ("02.2", "mutant", "tree: + → -", 0, "passed", "", "Passed."),
    ("02.2", "mutant", "tree: + → -", 1, "wrong", "deadlock", "On 3 ranks, nobody moves."),
    ("02.2", "wrong", "never waits", 0, "wrong", "open", "It returned."),
]


def sums(value: int, other: int) -> int:
    """Has something for each kind of mutant."""
    total = value + other * 2
    if total < other:
        total -= 1
    for k in range(other):
        total += max(k, min(value, 1))
    return total


def test_mutants_have_one_thing_exchanged_and_work() -> None:
    made = {mutant.name: mutant.function for mutant in mutants(sums)}
    names = {name.partition(": ")[2] for name in made}
    assert {
        "value + other * 2 → value - other * 2", "other * 2 → other / 2", "2 → 3",
        "total < other → total <= other", "total -= 1 → total += 1", "total -= 1 → pass",
        "if total < other: total -= 1 → pass", "range(other) → range(other + 1)",
        "range(other) → range(other - 1)", "max → min",
        "max(k, min(value, 1)) → max(min(value, 1), k)",
    } <= names  # fmt: skip
    assert made["sums: 2 → 3"](1, 2) == sums(1, 2) + 2
    assert made["sums: total -= 1 → pass"](-9, 2) == sums(-9, 2) + 1


@pytest.mark.parametrize("number", ["02.1", "06.1", "12.4"])
def test_of_functions_classes_and_what_a_spec_hands_on_to(number: str) -> None:
    reference = find(number).reference
    assert next(mutants(reference), None) is not None
    if number == "12.4":
        assert {"reference", "add_halo"} <= {part.name for part in needed(reference)}


def test_every_exercise_but_two_has_mutants() -> None:
    without = [e.number for e in everything() if not any(True for _ in mutants(e.reference))]
    assert set(without) <= {"01.4", "18.1"}


def test_rows_of_an_exercise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "SEEDS", (0,))
    made = [mutant for mutant in mutants(find("02.1").reference) if "cuts" in mutant.name]
    monkeypatch.setattr(verdicts, "mutants", lambda reference: made[:4])  # all come to an end
    exercise = find("02.1")
    found = [row for row in rows(exercise, 0) if row is not None]
    kinds = [row[1] for row in found]
    assert kinds[:2] == ["reference", "stub"] and kinds.count("wrong") == len(exercise.wrong)
    assert {row[4] for row in found if row[1] == "right"} == {"passed"}
    assert {row[4] for row in found if row[1] == "wrong"} == {"wrong"}
    assert {row[4] for row in found if row[1] == "mutant"} == {"wrong"}
    later = [row for row in rows(exercise, 2) if row is not None]
    assert later[: len(exercise.wrong)] == found[2 : 2 + len(exercise.wrong)]


@pytest.mark.parametrize("name", ["told.jsonl", "told.jsonl.xz"])
def test_a_table_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, TOLD)
    table = read(tmp_path / name)
    assert len(table) == len(TOLD) and list(differences(table, table)) == []
    other = table | {TOLD[-1][:4]: ("wrong", "open", "It came back.")}
    (said,) = differences(table, other)
    assert "02.2 wrong 'never waits', seed 0" in said and "It came back." in said
    assert list(passing(table)) == ["02.2 tree: 1 → 2"]


def test_what_differs_from_run_to_run_is_left_out() -> None:
    assert plain("at line 12, <object at 0x7f2c7a6b0220>") == "at line …, <object at 0x…>"
