"""Linear scaling and gradual warmup, as Goyal et al. state them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from helpers.lessons.data_parallel.algorithms.learning_rate import gradual_warmup, linear_scaling


def test_k_times_the_batch_takes_k_times_the_rate():
    assert linear_scaling(0.1, 8) == pytest.approx(0.8)
    with pytest.raises(ValueError, match="above zero"):
        linear_scaling(0.1, 0)


def test_warmup_starts_at_the_small_rate_and_grows_evenly():
    factor = gradual_warmup(steps=10, times=8)
    rates = [0.8 * factor(step) for step in range(12)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[10:] == pytest.approx([0.8, 0.8])
    # "Increments by a constant amount at each iteration."
    assert [b - a for a, b in pairwise(rates[:11])] == pytest.approx([0.07] * 10)


def test_no_warmup_is_no_warmup():
    assert gradual_warmup(0, 8)(0) == 1.0
    with pytest.raises(ValueError, match="no negative"):
        gradual_warmup(-1, 8)
