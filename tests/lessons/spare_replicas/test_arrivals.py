"""Timing-only runs against an event loop written out, and against training on the clock."""

from __future__ import annotations

from bisect import insort

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers
from benchmarks import arrivals
from benchmarks.arrivals import Arrivals, asynchronous, synchronous
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import (
    Asynchronous,
    SpareReplicas,
    Synchronous,
)
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask
from helpers.lessons.parameter_servers.experiments.step_times import (
    Constant,
    Gamma,
    HeavyTail,
    OneSlow,
)
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers

EITHER_WAY = pytest.mark.parametrize("run", [arrivals._by_heap, arrivals._by_windows])


def naive(times, aggregate, keep_late, push, pull, latency):
    """One event at a time, each with its kind: finished, at the server, answered.

    Returns the arrivals (seconds, worker, version, staleness or None where it was dropped), and
    the updates' seconds.
    """
    steps, workers = times.shape
    events: list = []
    count = 0

    def at(moment, kind, worker):
        nonlocal count
        count += 1
        insort(events, (moment, count, kind, worker))

    free = {"in": 0.0, "out": 0.0}

    def carry(moment, link, seconds):
        free[link] = max(moment, free[link]) + seconds
        return free[link] + latency

    version, has, done = 0, [0] * workers, [0] * workers
    held, came, updates = [], [], []
    for worker in range(workers):
        at(carry(0.0, "out", pull), "answered", worker)
    while True:
        moment, _, kind, worker = events.pop(0)
        if kind == "answered":
            at(moment + times[done[worker], worker], "finished", worker)
            done[worker] += 1
        elif kind == "finished":
            at(carry(moment, "in", push), "arrived", worker)
        else:
            late = version - has[worker]
            came.append((moment, worker, None if late and not keep_late else late))
            release = []
            if late and not keep_late:
                release = [worker]
            else:
                held.append(worker)
                if len(held) == aggregate:
                    version += 1
                    updates.append(moment)
                    release, held = sorted(held), []
            if any(done[w] == steps for w in release):
                return came, updates
            for w in release:
                has[w] = version
                at(carry(moment, "out", pull), "answered", w)


def some_times(kind, steps, workers, seed):
    models = {
        "gamma": Gamma(1.0, 0.3),
        "tail": HeavyTail(1.0, 1.0),
        "constant": Constant(1.0),
        "slow": OneSlow(Constant(1.0), worker=workers - 1, factor=3.0),
    }
    return models[kind].draw(steps, workers, np.random.default_rng(seed))


links = st.sampled_from([0.0, 0.05, 0.3, 2.0])


@EITHER_WAY
@given(
    kind=st.sampled_from(["gamma", "tail"]),
    workers=st.sampled_from([1, 2, 3, 5, 17]),
    steps=st.integers(1, 12),
    seed=st.integers(0, 10_000),
    push=links,
    pull=links,
    latency=st.sampled_from([0.0, 0.02]),
)
@settings(max_examples=60, deadline=None)
def test_asynchronous_is_the_event_loop(run, kind, workers, steps, seed, push, pull, latency):
    times = some_times(kind, steps, workers, seed)
    found = run(times, push, pull, latency)
    came, _ = naive(times, 1, True, push, pull, latency)
    assert found.workers.tolist() == [worker for _, worker, _ in came]
    assert found.seconds == pytest.approx([moment for moment, _, _ in came], rel=1e-12)
    assert found.staleness.tolist() == [late for _, _, late in came]


@EITHER_WAY
@pytest.mark.parametrize("kind", ["constant", "slow"])
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("link", [0.0, 0.25])
def test_whoever_began_first_goes_first_where_two_finish_at_once(run, kind, workers, link):
    times = some_times(kind, 12, workers, 0)
    found = run(times, link, link, 0.0)
    came, _ = naive(times, 1, True, link, link, 0.0)
    assert found.workers.tolist() == [worker for _, worker, _ in came]
    assert found.seconds.tolist() == [moment for moment, _, _ in came]


@given(
    kind=st.sampled_from(["gamma", "tail", "constant", "slow"]),
    workers=st.sampled_from([1, 2, 3, 5]),
    spare=st.integers(0, 4),
    steps=st.integers(1, 12),
    seed=st.integers(0, 10_000),
    push=links,
    pull=links,
)
@settings(max_examples=120, deadline=None)
def test_synchronous_is_the_event_loop(kind, workers, spare, steps, seed, push, pull):
    aggregate = max(workers - spare, 1)
    times = some_times(kind, steps, workers, seed)
    found = synchronous(times, aggregate, push, pull)
    came, updates = naive(times, aggregate, False, push, pull, 0.0)
    assert found.seconds.tolist() == updates
    dropped = [moment for moment, _, late in came if late is None]
    # Whoever is dropped at the very moment of an update came after it.
    if kind in ("gamma", "tail") and updates:
        assert found.dropped[-1] == sum(moment < updates[-1] for moment in dropped)


def test_many_workers_take_windows_and_few_a_heap():
    times = Gamma(1.0, 0.2).draw(30, 200, np.random.default_rng(0))
    for push in (0.0, 1 / 400, 1 / 150):
        heap = arrivals._by_heap(times, push, push, 0.01)
        found = asynchronous(times, push, push, 0.01)
        assert (found.workers == heap.workers).all()
        assert found.seconds == pytest.approx(heap.seconds, rel=1e-10)


def test_sorting_many_ends_keeps_the_order_of_equal_ones():
    times = np.full((3, arrivals.MANY + 10), 1.0)
    found = asynchronous(times)
    assert (found.workers[: times.shape[1]] == np.arange(times.shape[1])).all()
    assert (found.seconds[: times.shape[1]] == 1.0).all()


@pytest.mark.parametrize("workers", [2, 3, 5])
def test_the_clock_trains_in_the_same_order_and_at_the_same_times(workers):
    model, task = Gamma(1.0, 0.3), DigitsTask()
    trained = helpers.train(
        lambda weights: Asynchronous(weights, Sgd(0.05), workers),
        workers=workers, task=task, updates=30, seed=4, times=model,
        latency=0.01, bandwidth=10.0, payload=1.0,
    )  # fmt: skip
    found = asynchronous(model.table(40, workers, seed=4), push=0.1, pull=0.1, latency=0.01)
    log = [message.worker for message in trained.servers[0].log]
    assert found.workers[:30].tolist() == log[:30]
    assert found.seconds[29] == pytest.approx(trained.seconds, rel=1e-12)
    assert found.staleness[:30].tolist() == trained.staleness.tolist()


@pytest.mark.parametrize("aggregate", [3, 4])
def test_the_clock_takes_the_same_synchronous_steps(aggregate):
    model = HeavyTail(1.0, 0.6)

    def rule(weights):
        if aggregate == 4:
            return Synchronous(weights, Sgd(0.05), 4)
        return SpareReplicas(weights, Sgd(0.05), 4, aggregate=aggregate)

    trained = helpers.train(
        rule, workers=4, updates=20, seed=2, times=model, bandwidth=10.0, payload=1.0
    )
    found = synchronous(model.table(60, 4, seed=2), aggregate, push=0.1, pull=0.1)
    assert found.seconds[19] == pytest.approx(trained.seconds, rel=1e-12)
    assert found.dropped[19] == trained.drops


@pytest.mark.parametrize("aggregate", [6, 8])
def test_the_clock_takes_the_same_steps_in_spells(aggregate):
    model = FittedStragglers(late=0.3)
    trained = helpers.train(
        lambda weights: SpareReplicas(weights, Sgd(0.05), 8, aggregate=aggregate),
        workers=8, updates=40, seed=2, times=model, bandwidth=10.0, payload=1.0,
    )  # fmt: skip
    found = synchronous(model.table(60, 8, seed=2), aggregate, 0.1, 0.1, spell=model.spell)
    assert found.seconds[39] == pytest.approx(trained.seconds, rel=1e-12)
    assert found.dropped[39] == trained.drops


def test_equal_workers_are_each_others_staleness():
    found = asynchronous(Gamma(1.0, 0.2).draw(500, 10, np.random.default_rng(0)))
    assert found.staleness[100:].mean() == pytest.approx(9, rel=0.01)
    assert Arrivals(np.arange(5.0), np.array([1, 0, 0, 1, 1])).staleness.tolist() == [0, 1, 0, 2, 0]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: asynchronous(np.ones(3)), "give \\(steps, workers\\)"),
        (lambda: asynchronous(-np.ones((2, 2))), "below 0"),
        (lambda: asynchronous(np.ones((2, 2)), push=-1.0), "0 or more"),
        (lambda: synchronous(np.ones((2, 2)), aggregate=3), "1 to 2 gradients"),
        (lambda: synchronous(np.ones((2, 2)), spell=0.0), "lasts some seconds"),
    ],
)
def test_bad_input_gets_a_sentence(call, says):
    with pytest.raises(ValueError, match=says):
        call()
