"""Ranges, and what a trial gets from them."""

from __future__ import annotations

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
