"""What nbgrader's feedback shows: the hint of a shown case, of a hidden one the mistake's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.checks import apart, find
from helpers.grade.hidden import require

FIT = find("02.4")
SHOWN = [np.asarray(case.args[0][1], dtype=float) for case in FIT.cases(0)]


@pytest.fixture(autouse=True)
def observed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a check observes in a process of its own is observed in this one."""
    monkeypatch.setattr(apart, "_run", lambda job, exercise, seconds: job())


def right_where_shown(sizes: Any, seconds: Any) -> Any:
    """Right on the cases that the lesson shows; a known wrong answer on all others."""
    there = np.asarray(seconds, dtype=float)
    shown = any(one.shape == there.shape and np.array_equal(one, there) for one in SHOWN)
    return (FIT.reference if shown else FIT.wrong[0].function)(sizes, seconds)


def test_of_a_hidden_case_it_says_the_mistakes_name() -> None:
    with pytest.raises(AssertionError) as told:
        require("02.4", right_where_shown)
    said = "Right on the cases that the lesson shows, wrong on a hidden one"
    assert str(told.value) == f"{said}: {FIT.wrong[0].name}."


def test_of_a_shown_case_it_says_the_hint() -> None:
    with pytest.raises(AssertionError) as told:
        require("02.4", FIT.wrong[0].function)
    assert "hidden" not in str(told.value) and str(told.value)
    require("02.4", FIT.reference)
