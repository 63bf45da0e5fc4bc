"""Timing-only runs against training on the clock, whose order and times they are to have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import helpers
from benchmarks import arrivals
from benchmarks.arrivals import Arrivals, asynchronous, synchronous
from helpers.engine.servers.training import Training
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous, SpareReplicas
from helpers.lessons.parameter_servers.experiments.step_times import (
    Constant,
    Gamma,
    HeavyTail,
    OneSlow,
)
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers
from helpers.lessons.spare_replicas.experiments.traced_steps import NoGradients

TIMES = {
    "gamma": Gamma(1.0, 0.3),
    "tail": HeavyTail(1.0, 1.0),
    # Where two finish at once, whoever began first goes first.
    "constant": Constant(1.0),
    "slow": OneSlow(Constant(1.0), worker=0, factor=3.0),
}
# Seconds a message, and latency: powers of two, so that what comes at once does so exactly.
LINKS = [(0.0, 0.0), (1 / 16, 1 / 32), (0.25, 0.0), (2.0, 1 / 32)]
STEPS = 12


def on_the_clock(
    model: Any, workers: int, link: tuple[float, float], aggregate: int = 0
) -> Training:
    """Training; aggregate: of how many gradients an update is made, 0 for asynchronous ones."""
    message, latency = link

    def rule(weights: Any) -> Any:
        if aggregate:
            return SpareReplicas(weights, Sgd(0.05), workers, aggregate)
        return Asynchronous(weights, Sgd(0.05), workers)

    return helpers.train(
        rule, workers=workers, task=NoGradients(), batch=1, seed=4, times=model,
        updates=STEPS if aggregate else STEPS * workers, latency=latency, payload=1.0,
        bandwidth=1 / message if message else float("inf"),
    )  # fmt: skip


@pytest.mark.parametrize("run", [arrivals._by_heap, arrivals._by_windows])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("workers", [1, 2, 3, 5, 17])
@pytest.mark.parametrize("kind", TIMES)
def test_asynchronous_gradients_come_as_on_the_clock(
    run: Any, kind: str, workers: int, link: tuple[float, float]
) -> None:
    trained = on_the_clock(TIMES[kind], workers, link)
    message, latency = link
    table = TIMES[kind].table(4 * STEPS, workers, seed=4)
    found, count = run(table, message, message, latency), STEPS * workers
    log = [message.worker for message in trained.servers[0].log]
    assert found.workers[:count].tolist() == log[:count]
    assert found.seconds[count - 1] == pytest.approx(trained.seconds, rel=1e-12)
    assert found.staleness[:count].tolist() == trained.staleness.tolist()


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("workers", "aggregate"), [(1, 1), (2, 1), (3, 3), (5, 3), (5, 4)])
@pytest.mark.parametrize("kind", [*TIMES, "spells"])
def test_synchronous_steps_are_the_clock_s(
    kind: str, workers: int, aggregate: int, link: tuple[float, float]
) -> None:
    model: Any = TIMES.get(kind, FittedStragglers(late=0.3))
    trained = on_the_clock(model, workers, link, aggregate)
    message, latency = link
    spell = model.spell if kind == "spells" else None
    table = model.table(10 * STEPS, workers, seed=4)
    found = synchronous(table, aggregate, message, message, latency, spell)
    assert found.seconds[STEPS - 1] == pytest.approx(trained.seconds, rel=1e-12)
    if kind not in ("constant", "slow"):  # there, one may come at the very moment of an update
        assert found.dropped[STEPS - 1] == trained.drops


def test_many_workers_take_windows_in_the_order_of_a_heap_and_of_equal_ends() -> None:
    times = Gamma(1.0, 0.2).draw(30, 200, np.random.default_rng(0))
    heap, found = (run(times, 1 / 150, 1 / 150, 0.01) for run in (arrivals._by_heap, asynchronous))
    assert (found.workers == heap.workers).all()
    assert found.seconds == pytest.approx(heap.seconds, rel=1e-10)
    equal = asynchronous(np.full((3, arrivals.MANY + 10), 1.0))
    assert (equal.workers[: arrivals.MANY + 10] == np.arange(arrivals.MANY + 10)).all()
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
def test_bad_input_gets_a_sentence(call: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()
