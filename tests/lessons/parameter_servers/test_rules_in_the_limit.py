"""Rules beside what they have to equal, in float64; what a read promises; what is refused."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from arrivals_driver import (
    RATE,
    WORLDS,
    Arrivals,
    asynchronous,
    bounded,
    noisy,
    one_hot,
    orders,
    soft,
    spare,
    synchronous,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.engine.servers.rule import mean
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Adagrad, Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import (
    Asynchronous,
    BoundedStaleness,
    Downpour,
    Rule,
    SoftSync,
    SpareReplicas,
    Synchronous,
)

START = np.linspace(-1.0, 1.0, 4)
worlds = st.sampled_from(WORLDS)
few = settings(max_examples=12, deadline=None, derandomize=True)

LIMITS = {
    "λ-softsync": (lambda w, n: SoftSync(w, Sgd(RATE), n, splits=n), asynchronous),
    "no bound": (lambda w, n: BoundedStaleness(w, Sgd(RATE), n, math.inf), asynchronous),
    "no spare": (lambda w, n: SpareReplicas(w, Sgd(RATE), n, aggregate=n), synchronous),
    "Downpour": (
        lambda w, n: Downpour(w, RATE, n, start=0.2),
        lambda w, n: Asynchronous(w, Adagrad(RATE, 0.2), n),
    ),
}


@pytest.mark.parametrize("name", LIMITS)
@few
@given(worlds, orders)
def test_in_the_limit_a_rule_is_another_one(name, workers, order):
    run, plain = (Arrivals(make(START, workers), noisy()) for make in LIMITS[name])
    assert run.run(order).tobytes() == plain.run(order).tobytes()
    assert run.decisions == plain.decisions


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
            promised = max(given_[reader] - bound, 0)
            for writer in range(workers):
                places = [n for n, (worker, _) in enumerate(run.sent) if worker == writer]
                assert len(places) >= promised and set(places[:promised]) <= set(there)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Asynchronous(START, Sgd(0.1), 0), "at least one worker"),
        (lambda: SpareReplicas(START, Sgd(0.1), 3, 0), "aggregate 1 to 3"),
        (lambda: SpareReplicas(START, Sgd(0.1), 3, 4), "aggregate 1 to 3"),
        (lambda: SoftSync(START, Sgd(0.1), 3, 0), "splits is from 1 to 3"),
        (lambda: SoftSync(START, Sgd(0.1), 3, 4), "splits is from 1 to 3"),
        (lambda: BoundedStaleness(START, Sgd(0.1), 3, -1), "would stop everybody"),
    ],
)
def test_rules_refuse_what_cannot_be(make, says):
    with pytest.raises(ValueError, match=says):
        make()
    with pytest.raises(TypeError, match="Asynchronous has no optimizer"):
        Asynchronous(START, None, 3).arrive(0, START, 0)
    with pytest.raises(NotImplementedError):
        Rule(START, None, 1).arrive(0, START, 0)


@pytest.mark.parametrize("make", [asynchronous, synchronous, spare, soft(1), bounded(1)])
def test_rules_refuse_strangers_and_versions_that_are_not_there(make):
    rule = make(START, 2)
    with pytest.raises(ValueError, match=r"Worker 2 does not take part; \[0, 1\] do"):
        rule.arrive(2, START, 0)
    with pytest.raises(ValueError, match="version 1, but there are only versions 0 to 0"):
        rule.arrive(0, START, 1)
    assert rule.version == 0 and rule.weights is START


def test_nobody_gives_twice_to_a_synchronous_step():
    rule = synchronous(START, 2)
    rule.arrive(0, START, 0)
    with pytest.raises(ValueError, match="already given a gradient to this step"):
        rule.arrive(0, START, 0)


def test_a_mean_is_added_in_the_order_given():
    arrays = [np.array([1e16]), np.array([1.0]), np.array([-1e16])]
    assert mean(arrays)[0] == ((1e16 + 1.0) - 1e16) / 3
    assert mean(arrays[::-1])[0] == ((-1e16 + 1.0) + 1e16) / 3
