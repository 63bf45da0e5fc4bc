"""Each cure: what it does to a gradient, what it equals at its weakest, how cures compose."""

from __future__ import annotations

import numpy as np
import pytest
from arrivals_driver import (
    RATE,
    RULES,
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

from helpers.lessons.asynchronous.algorithms.stale_cures import (
    BatchRows,
    DelayCompensation,
    DropStale,
    LowerRate,
    ScaleByStaleness,
    Warmup,
)
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous, Averaging

START = np.linspace(-1.0, 1.0, 4)
every_rule = pytest.mark.parametrize("make", RULES.values(), ids=RULES)
worlds = st.sampled_from(WORLDS)
few = settings(max_examples=12, deadline=None, derandomize=True)

NOTHING = {
    "rate": lambda rule: LowerRate(rule, 1.0),
    "drop": lambda rule: DropStale(rule, 10**9),
    "compensation": lambda rule: DelayCompensation(rule, 0.0),
    "warmup": lambda rule: Warmup(rule, 0),
    "batch": lambda rule: BatchRows(rule, 32),
}


@pytest.mark.parametrize("cure", NOTHING.values(), ids=NOTHING)
@every_rule
@few
@given(orders, st.sampled_from(WORLDS))
def test_a_cure_at_its_weakest_changes_nothing(cure, make, order, workers):
    run = Arrivals(cure(make(START, workers)), noisy())
    plain = Arrivals(make(START, workers), noisy())
    assert run.run(order).tobytes() == plain.run(order).tobytes()
    assert run.decisions == plain.decisions


@every_rule
@few
@given(orders, st.sampled_from(WORLDS))
def test_a_lower_rate_is_a_lower_rate(make, order, workers):
    run = Arrivals(LowerRate(LowerRate(make(START, workers), 0.5), 0.25), noisy())
    plain = make(START, workers)
    plain.optimizer.rate *= 0.125
    assert run.run(order).tobytes() == Arrivals(plain, noisy()).run(order).tobytes()


@pytest.mark.parametrize(
    "make", [bounded(1), soft(2), spare, synchronous, lambda w, n: Warmup(bounded(0)(w, n), 4)]
)
@few
@given(worlds, orders, st.integers(0, 2))
def test_the_limit_holds_when_a_gradient_arrives_whatever_the_rule(make, workers, order, limit):
    run = Arrivals(DropStale(make(START, workers), limit), noisy())
    for pick in order:
        before = run.rule.version
        decision = run.arrive(pick)  # which fails where dropping leads into a deadlock
        worker, version = run.sent[-1]
        if before - version > limit:
            assert [push.worker for push in decision.dropped] == [worker]


def test_a_dropped_gradient_counts_as_given_where_others_wait_for_it():
    rule = DropStale(bounded(0)(START, 2), 0)
    assert rule.arrive(0, START, 0).release == ()
    decision = rule.arrive(1, START, 0)
    assert len(decision.dropped) == 1 and decision.release == (0, 1)


@pytest.mark.parametrize("make", [synchronous, spare, bounded(0), bounded(2), soft(2)])
@pytest.mark.parametrize("when", [0, 3])
def test_where_the_lone_worker_leaves_the_next_one_takes_over(make, when):
    run = Arrivals(Warmup(make(START, 3), 3), noisy())
    for _ in range(when):
        run.arrive(0)
    run.leave(0)
    assert set(run.going) == ({1} if when < 3 else {1, 2})
    run.run([0, 1] * 10)
    assert {push.worker for push in run.applied} >= {1, 2}


def test_cures_show_the_rule_inside():
    rule = asynchronous(START, 3)
    cure = BatchRows(DropStale(ScaleByStaleness(LowerRate(rule, 0.5)), 4), 8)
    assert cure.weights is rule.weights and cure.version == 0 and cure.workers == {0, 1, 2}
    assert cure.optimizer is rule.optimizer and cure.pushes == "gradients"
    assert cure.rows == 8 and DropStale(cure, 3).rows == 8 and rule.rows is None


@pytest.mark.parametrize(
    ("cure", "says"),
    [
        *(
            (lambda rule, factor=factor: LowerRate(rule, factor), "between 0 and 1")
            for factor in (0, 1.5, -1, float("nan"))
        ),
        (lambda rule: DropStale(rule, -1), "limit=-1 drops all"),
        (lambda rule: ScaleByStaleness(rule, 0), "scale fresh gradients too: 0"),
        (lambda rule: DelayCompensation(rule, -1), "0 or more, not -1"),
        (lambda rule: BatchRows(rule, 0), "at least one row"),
        (lambda rule: Warmup(rule, -1), "0 updates or more"),
        (
            lambda rule: DelayCompensation(rule, 1.0).arrive(0, START, 0),
            "has never pulled weights",
        ),
    ],
)
def test_cures_refuse_what_cannot_be(cure, says):
    with pytest.raises(ValueError, match=says):
        cure(asynchronous(START, 2))


def test_cures_for_gradients_refuse_a_rule_that_averages_weights():
    rule = Averaging(START, 2)
    for cure in (ScaleByStaleness, lambda r: DelayCompensation(r, 0.1), lambda r: Warmup(r, 5)):
        with pytest.raises(TypeError, match="workers of Averaging push weights"):
            cure(rule)
    with pytest.raises(TypeError, match="no learning rate to lower"):
        LowerRate(rule, 0.5)


def test_in_a_warmup_a_worker_that_was_let_go_earlier_counts_for_nothing():
    """As after a server that restarted from before the warmup's end: all are computing."""
    rule = Warmup(Asynchronous(START, Sgd(RATE), 3), 2)
    lone, *others = Asynchronous(START, Sgd(RATE), 3).start()
    for worker in others:
        decision = rule.arrive(worker, np.ones(4), 0)
        assert decision.release == (worker,) and not decision.applied
        assert [push.worker for push in decision.dropped] == [worker]
    assert rule.version == 0 and (np.asarray(rule.weights) == START).all()
    rule.arrive(lone, np.ones(4), 0)
    assert rule.version == 1
