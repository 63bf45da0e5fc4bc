"""The table of kinds: every exercise has its row, and what passes has its reason."""

from __future__ import annotations

from itertools import chain

import pytest

from helpers.checks import everything
from helpers.checks.spec import Exercise
from tests.checks.twists import KINDS, MAY, TWISTS, row

ROWS = [line for line in KINDS.read_text(encoding="utf-8").splitlines() if line[2:4].isdigit()]


def test_what_passes_has_its_reason() -> None:
    assert [line[2:6] for line in ROWS] == [exercise.number for exercise in everything()]
    passing = {
        f"{line[2:6]} {twist.name}"
        for line in ROWS
        for twist, found in zip(TWISTS, line.strip("| ").split(" | ")[1:], strict=True)
        if found == "passes"
    }
    assert passing == set(chain.from_iterable(MAY.values()))


@pytest.mark.thorough
@pytest.mark.parametrize("exercise", everything(), ids=lambda exercise: exercise.number)
def test_each_exercise_asks_for_what_the_table_says(exercise: Exercise) -> None:
    assert row(exercise) in ROWS
