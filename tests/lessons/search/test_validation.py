"""Folds, and the paired test against slow and known ways."""

from __future__ import annotations

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
    again = folds(rows, count, seed)
    assert all((a[1] == b[1]).all() for a, b in zip(found, again, strict=True))
    with pytest.raises(ValueError, match=f"{rows} rows make 2 to {rows} folds, not"):
        folds(rows, data.draw(st.sampled_from([0, 1, rows + 1])))


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
    with pytest.raises(ValueError, match="as many rows as its other half: 2, 1"):
        paired_p_value([True, False], [True])
