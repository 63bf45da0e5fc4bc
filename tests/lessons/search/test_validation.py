"""Folds, and the paired test against slow and known ways."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.lessons.search.algorithms.validation import folds, paired_p_value


@given(st.integers(2, 200), st.data(), st.integers(0, 99))
def test_each_row_is_judged_by_once_and_never_trained_on_then(
    rows: int, data: st.DataObject, seed: int
) -> None:
    count = data.draw(st.integers(2, min(rows, 12)))
    found = folds(rows, count, seed)
    assert len(found) == count
    judged = np.concatenate([held for _, held in found])
    assert sorted(judged) == list(range(rows))
    for train, held in found:
        assert sorted([*train, *held]) == list(range(rows))
        assert list(train) == sorted(train) and list(held) == sorted(held)
    sizes = [len(held) for _, held in found]
    assert max(sizes) - min(sizes) <= 1


def test_folds_depend_on_the_seed() -> None:
    first, again, other = folds(50, 5, 0), folds(50, 5, 0), folds(50, 5, 1)
    assert all((a[1] == b[1]).all() for a, b in zip(first, again, strict=True))
    assert any(list(a[1]) != list(b[1]) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("count", [1, 0, 8])
def test_folds_that_cannot_be_are_told(count: int) -> None:
    with pytest.raises(ValueError, match=f"7 rows make 2 to 7 folds, not {count}"):
        folds(7, count)


def outcomes(only_first: int, only_second: int) -> tuple[list[bool], list[bool]]:
    """Two classifiers that differ so on some rows, and agree on others."""
    first = [True] * only_first + [False] * only_second + [True, False, True]
    second = [False] * only_first + [True] * only_second + [True, False, True]
    return first, second


@given(st.integers(0, 6), st.integers(0, 6))
def test_the_p_value_is_that_of_all_ways_that_coins_can_fall(one: int, other: int) -> None:
    apart = one + other
    extreme = sum(
        abs(2 * sum(coins) - apart) >= abs(one - other) for coins in product((0, 1), repeat=apart)
    )
    assert paired_p_value(*outcomes(one, other)) == pytest.approx(extreme / 2**apart)


def test_known_p_values() -> None:
    assert paired_p_value(*outcomes(0, 0)) == 1.0
    assert paired_p_value(*outcomes(5, 5)) == 1.0
    assert paired_p_value(*outcomes(0, 6)) == pytest.approx(2 / 64)
    assert paired_p_value(*outcomes(1, 9)) == pytest.approx(2 * (1 + 10) / 1024)
    assert math.isclose(paired_p_value(*outcomes(9, 1)), paired_p_value(*outcomes(1, 9)))


def test_rows_without_a_partner_are_told() -> None:
    with pytest.raises(ValueError, match="as many rows as its other half: 2, 1"):
        paired_p_value([True, False], [True])
