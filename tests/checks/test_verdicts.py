"""The golden table of what answers are told, and the mutants in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.mutants import mutants
from tests.checks.verdicts import Row, differences, passing, plain, read, write

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


def test_each_mutant_that_passes_is_told_of() -> None:
    """Those of the stored table, and no others, are equal or do what no text asks for."""
    folder = Path(__file__).parent
    told, number = set(), ""
    for line in (folder / "mutants.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("- `"):
            told.add(f"{number} {line[3:].split('`: ')[0]}")
        elif line.startswith("#"):
            assert "missing" not in line
        else:
            number = line or number
    assert told == set(passing(read(folder / "golden.jsonl.xz")))
