"""Every rule over orders of arrivals that hypothesis picks."""

from __future__ import annotations

import pickle
import random
from collections import Counter

import numpy as np
import pytest
from arrivals_driver import (
    EVERY,
    RATE,
    RULES,
    WORLDS,
    Arrivals,
    as_torch,
    bounded,
    inside,
    noisy,
    one_hot,
    orders,
    soft,
    synchronous,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Synchronous

START = np.linspace(-1.0, 1.0, 4)
every_rule = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
worlds = st.sampled_from(WORLDS)
few = settings(max_examples=12, deadline=None, derandomize=True)
leaving = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 59)), min_size=1, max_size=60)


def one_after_another(rounds: int, workers: int) -> list[int]:
    """Picks that let the workers push in turn, where nobody waits."""
    return [turn % workers for turn in range(rounds * workers)]


def shuffled(count: int, seed: int = 0) -> list[int]:
    """Picks as in a run in which everybody is equally quick."""
    return random.Random(seed).choices(range(60), k=count)


@every_rule
@few
@given(worlds, orders)
def test_the_same_order_gives_the_same_weights_bit_for_bit(make, workers, order):
    first = Arrivals(make(START, workers), noisy()).run(order)
    again = Arrivals(make(START, workers), noisy()).run(order)
    assert first.dtype == np.float64 and first.tobytes() == again.tobytes()
    # torch does the same operations in the same order.
    torches = Arrivals(make(as_torch(START), workers), noisy()).run(order)
    twice = Arrivals(make(as_torch(START), workers), noisy()).run(order)
    assert torches.numpy().tobytes() == twice.numpy().tobytes()
    if make is RULES["Downpour"]:  # torch's square roots are a bit off, of the last place
        np.testing.assert_allclose(first, torches.numpy(), rtol=1e-12, atol=1e-12)
    else:
        assert first.tobytes() == torches.numpy().tobytes()


@every_rule
@few
@given(worlds, orders, st.integers(0, 60))
def test_a_rule_goes_on_from_a_snapshot_as_if_nothing_had_happened(make, workers, order, when):
    whole = Arrivals(make(START, workers), noisy())
    parts = Arrivals(make(START, workers), noisy())
    parts.run(order[:when])
    parts.rule = pickle.loads(pickle.dumps(parts.rule))
    assert whole.run(order).tobytes() == parts.run(order[when:]).tobytes()
    assert whole.decisions == parts.decisions


@every_rule
@few
@given(worlds, orders)
def test_no_gradient_is_applied_twice_and_none_is_lost(make, workers, order):
    run = Arrivals(make(np.zeros(400), workers), one_hot())
    weights = run.run(order)
    held = getattr(inside(run.rule), "held", ())
    # Every push was applied, dropped, or is still held: once.
    fates = Counter((push.worker, push.version) for push in run.applied + run.dropped)
    assert not fates - Counter(run.sent)
    assert len(run.applied) + len(run.dropped) + len(held) == len(run.sent)
    # A gradient moves a weight of its own: as many have moved as were applied, and no others.
    assert np.count_nonzero(weights) == len(run.applied)
    assert not weights[len(run.sent) :].any()


@pytest.mark.parametrize("make", [v for k, v in RULES.items() if k not in ("momentum", "Downpour")])
@few
@given(worlds, orders)
def test_an_update_is_the_mean_of_its_gradients(make, workers, order):
    run = Arrivals(make(np.zeros(400), workers), one_hot())
    moved = -run.run(order) / RATE
    # Each weight moved by 1/k of a step, in an update of k gradients.
    sizes = Counter(len(d.applied) for d in run.decisions if d.applied)
    for size, count in sizes.items():
        assert np.isclose(moved, 1 / size, rtol=1e-12).sum() == size * count


@every_rule
@few
@given(worlds, orders)
def test_staleness_is_the_updates_between_pull_and_update(make, workers, order):
    run = Arrivals(make(START, workers), noisy())
    version = 0
    for pick in order:
        decision = run.arrive(pick)
        for push in decision.applied + decision.dropped:
            assert push.staleness == version - push.version
        version += bool(decision.applied)
    # No version is skipped: as many updates as versions.
    assert version == run.rule.version


@pytest.mark.parametrize("splits", [1, 4, 12])
def test_softsync_gradients_are_about_n_late_on_average(splits):
    # In turn, a gradient is n late, or n − 1 where it is the last of its mean: n − n/λ.
    in_turn = Arrivals(soft(splits)(START, 12), noisy())
    in_turn.run(one_after_another(20, 12))
    late = [push.staleness for push in in_turn.applied[5 * 12 :]]
    assert set(late) <= {splits - 1, splits}
    assert np.mean(late) == pytest.approx(splits - splits / 12)
    by_chance = Arrivals(soft(splits)(START, 12), noisy())
    by_chance.run(shuffled(3000))
    late = [push.staleness for push in by_chance.applied[5 * 12 :]]
    assert np.mean(late) == pytest.approx(splits - splits / 12, rel=0.05)


@every_rule
@few
@given(worlds, leaving)
def test_workers_that_leave_at_any_moment_hold_nobody_up(make, workers, moves):
    run = Arrivals(make(np.zeros(400), workers), one_hot())
    for kind, pick in moves:
        if not run.rule.workers:
            break
        if kind == 0:
            run.leave(pick)
        else:
            run.arrive(pick)  # which fails where nobody is going
        assert run.going or not run.rule.workers
    held = getattr(inside(run.rule), "held", ())
    assert len(run.applied) + len(run.dropped) + len(held) == len(run.sent)
    assert np.count_nonzero(run.rule.weights) == len(run.applied)


def test_the_gradient_of_one_that_left_counts_and_nobody_waits_for_it():
    run = Arrivals(Synchronous(np.zeros(4), Sgd(1.0), 3), one_hot(4))
    run.arrive(0)
    run.leave(0)
    run.arrive(0)
    decision = run.leave(1)  # the last one that was waited for
    assert [push.worker for push in decision.applied] == [0, 1]
    assert decision.release == (1,)
    assert run.rule.weights.tolist() == [-0.5, -0.5, 0, 0]


def test_whoever_waits_does_not_begin_again_after_a_restart():
    for make in (synchronous, bounded(0)):
        run = Arrivals(make(START, 3), noisy())
        run.arrive(1)
        restored = pickle.loads(pickle.dumps(run.rule))
        assert restored.start() == (0, 2)
