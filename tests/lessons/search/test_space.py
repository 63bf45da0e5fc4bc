"""Ranges, and what a trial gets from them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.lessons.search.algorithms.ranges import Choice, LogUniform, Uniform
from helpers.lessons.search.algorithms.space import draw

SPACE = {"rate": LogUniform(0.001, 1.0), "width": Choice((8, 16, 32)), "decay": Uniform(-1.0, 3.0)}


def test_each_range_has_its_ends_and_its_middle() -> None:
    assert [Uniform(2.0, 4.0).at(place) for place in (0.0, 0.5, 1.0)] == [2.0, 3.0, 4.0]
    span = LogUniform(0.01, 1.0)
    assert [span.at(place) for place in (0.0, 0.5, 1.0)] == pytest.approx([0.01, 0.1, 1.0])
    options = Choice(("a", "b", "c"))
    assert [options.at(place) for place in (0.0, 0.34, 0.67, 1.0)] == ["a", "b", "c", "c"]


@pytest.mark.parametrize("low, high", [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0)])
def test_factors_from_nothing_are_told(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="0 < low ≤ high"):
        LogUniform(low, high)


@given(st.integers(0, 10**6), st.integers(0, 10**4))
def test_a_draw_lies_within_its_ranges(seed: int, trial: int) -> None:
    drawn = draw(SPACE, trial, seed)
    assert drawn.keys() == SPACE.keys()
    assert 0.001 <= drawn["rate"] <= 1.0 and -1.0 <= drawn["decay"] <= 3.0
    assert drawn["width"] in (8, 16, 32)


def test_a_draw_depends_on_seed_trial_and_names_alone() -> None:
    first = draw(SPACE, 7, 3)
    for trial in range(20):
        draw(SPACE, trial, 3)
    assert draw(dict(reversed(SPACE.items())), 7, 3) == first
    assert draw(SPACE, 8, 3) != first and draw(SPACE, 7, 4) != first


def test_each_factor_and_each_option_is_as_likely() -> None:
    drawn = [draw(SPACE, trial, 0) for trial in range(3000)]
    tenths = [int(-math.log10(each["rate"])) for each in drawn]
    for part in range(3):
        assert tenths.count(part) == pytest.approx(1000, abs=120)
    for option in (8, 16, 32):
        assert sum(each["width"] == option for each in drawn) == pytest.approx(1000, abs=120)
