"""Stale synchronous parallel: what a read promises, and what s = 0 and s = ∞ are."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from arrivals_driver import WORLDS, Arrivals, bounded, one_hot, orders
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import (
    Asynchronous,
    BoundedStaleness,
    Synchronous,
)
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask
from helpers.lessons.parameter_servers.experiments.step_times import Constant, OneSlow

START = np.linspace(-1.0, 1.0, 4)
every_world = pytest.mark.parametrize("workers", WORLDS)
worlds = st.sampled_from(WORLDS)
few = settings(max_examples=12, deadline=None, derandomize=True)


@few
@given(worlds, orders, st.integers(0, 3))
def test_a_read_at_clock_c_holds_the_first_c_minus_s_of_everybody(workers, order, bound):
    run = Arrivals(bounded(bound)(np.zeros(400), workers), one_hot())
    for pick in order:
        run.arrive(pick)
        given_ = Counter(worker for worker, _ in run.sent)
        for reader, (weights, _) in run.going.items():
            there = np.flatnonzero(weights)  # numbers of the pushes that it reads
            seen = Counter(run.sent[number][0] for number in there)
            assert seen[reader] == given_[reader]
            for writer in range(workers):
                places = [n for n, (worker, _) in enumerate(run.sent) if worker == writer]
                promised = places[: max(given_[reader] - bound, 0)]
                assert len(promised) == max(given_[reader] - bound, 0)
                assert set(promised) <= set(there)


@few
@given(worlds, st.permutations(range(60)))
def test_s_0_is_the_synchronous_rule_with_n_times_the_rate_bit_for_bit(workers, order):
    # Quarters, and whole numbers that N divides: sums and means are exact in any order.
    start = np.array([-1.0, -0.25, 0.5, 1.0])

    def gradient(worker, number, weights):
        return workers * (worker - np.floor(weights) + np.arange(4))

    order = order[: 60 // workers * workers]
    run = Arrivals(BoundedStaleness(start, Sgd(0.25), workers, 0), gradient)
    plain = Arrivals(Synchronous(start, Sgd(0.25 * workers), workers), gradient)
    assert run.run(order).tobytes() == plain.run(order).tobytes()


@every_world
def test_on_the_clock_s_0_takes_the_slowests_time_and_no_bound_takes_nobodys(workers):
    times, task = OneSlow(Constant(1.0), worker=0, factor=4.0), DigitsTask((64, 10))

    def gradients(make):
        run = helpers.train(make, workers=workers, times=times, seconds=20.5, task=task)
        return len(run.staleness)

    assert gradients(lambda w: BoundedStaleness(w, Sgd(0.1), workers, 0)) == 5 * workers
    alone = gradients(lambda w: Asynchronous(w, Sgd(0.1), workers))
    assert gradients(lambda w: BoundedStaleness(w, Sgd(0.1), workers, math.inf)) == alone
    assert alone == 5 + 20 * (workers - 1)


@pytest.mark.real
@pytest.mark.parametrize(
    ("workers", "bound"),
    [(2, 1), *(pytest.param(3, bound, marks=pytest.mark.thorough) for bound in (0, math.inf))],
)
def test_the_order_on_real_processes_gives_the_same_weights_on_the_clock(bound, workers):
    task = DigitsTask((64, 10))

    def train(**options):
        return helpers.train(
            lambda w: BoundedStaleness(w, Sgd(0.1), workers, bound),
            workers=workers,
            task=task,
            **options,
        )

    real = train(engine="processes", updates=24)
    again = train(order=[server.log for server in real.servers])
    assert again.weights.numpy().tobytes() == real.weights.numpy().tobytes()
