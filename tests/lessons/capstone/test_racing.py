"""Times to a target, searches on a budget, paired comparisons and the sentences of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from helpers.lessons.capstone.algorithms.findings import findings
from helpers.lessons.capstone.algorithms.paired import compare
from helpers.lessons.capstone.algorithms.rates import best_rate
from helpers.lessons.capstone.algorithms.runs import Look, Run
from helpers.lessons.capstone.algorithms.timing import timed

RUN = Run(2.0, [Look(3.0, 0.5, 30), Look(4.0, 0.5, 10), Look(6.0, 1.0, 14), Look(8.0, 1.0, 9)])


def test_the_clock_starts_when_all_are_ready_and_stands_still_while_somebody_looks() -> None:
    assert timed(lambda: RUN, 11.0) == (8.0 - 2.0 - 2.0, 11.0)
    assert timed(lambda: RUN, 10.9) == (math.inf, 11.0)
    assert timed(lambda: RUN, 18.0) == (6.0 - 2.0 - 1.0, 11.0)


@given(
    st.integers(1, 5),
    st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.6, 1.0]), min_size=1, max_size=5, unique=True),
    st.integers(0, 12),
    st.integers(0, 2**30),
)
def test_a_search_never_trains_more_than_its_budget_nor_twice(
    seeds: int, rates: list[float], more: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    asked: list[tuple[float, int]] = []

    def result_of(rate: float, its_seed: int) -> tuple[float, float]:
        asked.append((rate, its_seed))
        seconds = math.inf if random.random() < 0.3 else float(random.random())
        return seconds, float(random.uniform(5, 90))

    budget = len(rates) + seeds - 1 + more
    found = best_rate(result_of, rates, range(seeds), budget)
    assert found in rates and len(asked) <= budget and len(set(asked)) == len(asked)
    assert sum(rate == found for rate, _ in asked) == seeds
    with pytest.raises(ValueError, match=f"take {len(rates) + seeds - 1} trainings"):
        best_rate(result_of, rates, range(seeds), len(rates) + seeds - 2)
    # Where no rate arrives, the nearest is taken.
    assert best_rate(lambda rate, seed: (math.inf, rate), rates, range(seeds), 99) == min(rates)


numbers = st.floats(-1e3, 1e3).map(lambda x: round(x, 3))


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=9))
def test_a_comparison_is_scipys_and_turns_round_with_its_lists(pairs: list[Any]) -> None:
    a, b = ([pair[k] for pair in pairs] for k in (0, 1))
    mean, low, high, p = compare(a, b)
    back = compare(b, a)
    assert back[0] == pytest.approx(-mean) and back[1] == pytest.approx(-high, abs=1e-9)
    assert back[3] == pytest.approx(p) and low <= mean <= high and 0 <= p <= 1
    differences = np.subtract(b, a)
    if differences.std() > 1e-6:
        test = stats.ttest_rel(b, a)
        assert p == pytest.approx(test.pvalue, rel=1e-6, abs=1e-12)
        assert (low, high) == pytest.approx(tuple(test.confidence_interval(0.95)), rel=1e-6)


def test_what_cannot_be_compared_is_refused() -> None:
    for a, b, words in (
        ([1.0], [2.0], "1 and 1 runs"),
        ([1.0, 2.0], [2.0], "2 and 1 runs"),
        ([1.0, 2.0], [2.0, math.inf], "never arrived"),
        ([1.0, math.inf], [2.0, math.inf], "never arrived"),
    ):
        with pytest.raises(ValueError, match=words):
            compare(a, b)


def test_the_sentences_change_with_the_runs() -> None:
    times = {"ring": [4.0, 5.0, 6.0], "tree": [7.0, 9.0, 8.0], "server": [math.inf] * 3}
    ends = {"ring": [9.0, 8.0, 8.5], "tree": [7.0, 7.5, 7.2], "server": [30.0, 31.0, 32.0]}
    said = findings(times, ends)
    assert said[0].startswith("ring reached the target first, after 5 s")
    assert "tree took 3 s more than ring" in said[1] and said[2].startswith("tree ended best")
    assert said[3] == "Not arrived: server in 3 of 3 runs."
    other = findings({**times, "tree": [1.0, 2.0, math.inf]}, ends)
    assert other[0].startswith("tree") and "tree arrived in 2 of 3 runs" in other[1]
    assert not set(said[:2]) & set(other[:2]) and said[2] == other[2]
