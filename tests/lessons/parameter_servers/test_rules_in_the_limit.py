"""Rules beside what they have to equal, in float64; what averaging does; what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from arrivals_driver import (
    RATE,
    WORLDS,
    Arrivals,
    asynchronous,
    bounded,
    noisy,
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
    Averaging,
    BoundedStaleness,
    Downpour,
    Rule,
    SoftSync,
    SpareReplicas,
)

START = np.linspace(-1.0, 1.0, 4)
worlds = st.sampled_from(WORLDS)
few = settings(max_examples=12, deadline=None, derandomize=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda w, n: SoftSync(w, Sgd(RATE), n, splits=n),
        lambda w, n: BoundedStaleness(w, Sgd(RATE), n, bound=math.inf),
    ],
    ids=["λ-softsync", "no bound"],
)
@few
@given(worlds, orders)
def test_what_is_asynchronous_in_the_limit(make, workers, order):
    run, plain = (Arrivals(rule(START, workers), noisy()) for rule in (make, asynchronous))
    assert run.run(order).tobytes() == plain.run(order).tobytes()
    assert run.decisions == plain.decisions


@few
@given(worlds, orders)
def test_no_spare_replica_is_synchronous(workers, order):
    run = Arrivals(SpareReplicas(START, Sgd(RATE), workers, aggregate=workers), noisy())
    plain = Arrivals(synchronous(START, workers), noisy())
    assert run.run(order).tobytes() == plain.run(order).tobytes()
    assert run.decisions == plain.decisions


@few
@given(worlds, orders)
def test_the_downpour_server_is_asynchronous_with_adagrad(workers, order):
    run = Arrivals(Downpour(START, RATE, workers, start=0.2), noisy())
    plain = Arrivals(Asynchronous(START, Adagrad(RATE, 0.2), workers), noisy())
    assert run.run(order).tobytes() == plain.run(order).tobytes()


def test_averaging_takes_the_mean_weights_of_everybody():
    rule = Averaging(np.zeros(2), 2)
    assert rule.arrive(1, np.array([1.0, 2.0]), 0).release == ()
    assert rule.arrive(0, np.array([3.0, 4.0]), 0).release == (0, 1)
    assert rule.weights.tolist() == [2.0, 3.0] and rule.version == 1


def test_rules_refuse_what_cannot_be():
    with pytest.raises(ValueError, match="at least one worker"):
        Asynchronous(START, Sgd(0.1), 0)
    for aggregate in (0, 4):
        with pytest.raises(ValueError, match="aggregate 1 to 3"):
            SpareReplicas(START, Sgd(0.1), 3, aggregate)
    for splits in (0, 4):
        with pytest.raises(ValueError, match="splits is from 1 to 3"):
            SoftSync(START, Sgd(0.1), 3, splits)
    with pytest.raises(ValueError, match="would stop everybody"):
        BoundedStaleness(START, Sgd(0.1), 3, -1)
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
