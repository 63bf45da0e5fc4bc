"""The α–β model against the virtual clock, and fits against the links that made the times."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import helpers
from helpers.lessons.messages.algorithms import collectives as c
from helpers.lessons.messages.algorithms import cost_model
from helpers.lessons.messages.algorithms.cost_model import fit_latency_bandwidth, predicted_seconds

LINK = {"latency": 1e-4, "bandwidth": 1e6}
EXACT = [
    *[(f, 5) for f in [c.broadcast_naive, c.broadcast_tree, c.reduce_naive]],
    *[(f, n) for f in [c.all_reduce_naive, c.all_reduce_ring] for n in [1, 2, 5]],
    *[(f, n) for f in [c.reduce_tree, c.all_reduce_tree] for n in [1, 4]],
    *[(c.all_reduce_halving_doubling, n) for n in [1, 2, 8]],
]
BOUND = [(c.reduce_tree, 5), (c.all_reduce_tree, 6)]  # trees of other sizes


@pytest.mark.parametrize(("algorithm", "size"), EXACT + BOUND)
def test_the_model_is_exact_on_the_virtual_clock_or_a_bound(algorithm, size):
    def job(comm):
        algorithm(comm, torch.ones(240))
        return comm.time()

    predicted = predicted_seconds(algorithm, size, 240 * 4, *LINK.values())
    took = max(helpers.run(job, ranks=size, engine="virtual", **LINK))
    assert took <= predicted * (1 + 1e-9)
    if (algorithm, size) in EXACT:
        assert took == pytest.approx(predicted, rel=1e-9, abs=1e-15)


def test_the_model_knows_names_and_refuses_others():
    assert predicted_seconds("message", 2, 1000, 1e-3, 1e6) == pytest.approx(2e-3)
    assert predicted_seconds("all_reduce_ring", 4, 1000, 0, math.inf) == 0
    with pytest.raises(ValueError, match="Known are: message, broadcast_naive"):
        predicted_seconds(c.all_reduce_shared, 4, 1000, 1e-3, 1e6)
    with pytest.raises(ValueError, match="bandwidth above zero"):
        predicted_seconds("message", 4, 1000, 1e-3, 0)
    for name in set(cost_model.ALGORITHMS) - {"message"}:
        assert hasattr(c, name)


@given(alpha=st.floats(1e-7, 1e-2), bandwidth=st.floats(1e6, 1e11))
def test_a_fit_finds_the_link_that_made_the_times(alpha, bandwidth):
    sizes = [8 * 4**i for i in range(13)]
    fit = fit_latency_bandwidth(sizes, [alpha + n / bandwidth for n in sizes])
    assert fit.latency == pytest.approx(alpha, rel=1e-6)
    if sizes[-1] / bandwidth > 1e-3 * alpha:
        assert fit.bandwidth == pytest.approx(bandwidth, rel=1e-4)
    assert tuple(fit) == (fit.alpha, fit.beta)


def test_a_fit_never_goes_below_zero():
    fit = fit_latency_bandwidth([1000, 2000, 4000], [0.9e-3, 2.1e-3, 4.4e-3])
    assert fit.alpha == 0
    assert fit.bandwidth == pytest.approx(1e6, rel=0.1)
    fit = fit_latency_bandwidth([1000, 2000, 4000], [3e-3, 2e-3, 1e-3])
    assert (fit.beta, fit.bandwidth) == (0, math.inf)
    with pytest.raises(ValueError, match="two different sizes"):
        fit_latency_bandwidth([8, 8], [1, 1])
