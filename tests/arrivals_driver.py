"""Drives a rule through an order of arrivals that a test picks; and the rules to be driven."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from helpers.engine.servers.client import Client
from helpers.engine.servers.rule import Decision, Rule
from helpers.lessons.asynchronous.algorithms.stale_cures import (
    BatchRows,
    DelayCompensation,
    DropStale,
    LowerRate,
    ScaleByStaleness,
    Warmup,
)
from helpers.lessons.fewer_bits.algorithms.diloco import DiLoCo
from helpers.lessons.parameter_servers.algorithms.clients import DownpourClient, LocalSteps
from helpers.lessons.parameter_servers.algorithms.server_optimizers import AdamW, Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import (
    Asynchronous,
    Averaging,
    BoundedStaleness,
    Downpour,
    SoftSync,
    SpareReplicas,
    Synchronous,
)

WORLDS = (1, 2, 3, 5)
RATE = 0.1

MakeRule = Callable[[Any, int], Rule]


def asynchronous(weights: Any, workers: int) -> Rule:
    """The rule that most cures are put around."""
    return Asynchronous(weights, Sgd(RATE), workers)


def synchronous(weights: Any, workers: int) -> Rule:
    """Nobody is left behind."""
    return Synchronous(weights, Sgd(RATE), workers)


def spare(weights: Any, workers: int) -> Rule:
    """A spare replica or two, where there are workers enough."""
    return SpareReplicas(weights, Sgd(RATE), workers, (workers + 1) // 2)


def bounded(bound: int) -> MakeRule:
    """A bound of staleness."""
    return lambda weights, workers: BoundedStaleness(weights, Sgd(RATE), workers, bound)


def soft(splits: int) -> MakeRule:
    """So many updates a round, or as many as there are workers."""
    return lambda weights, workers: SoftSync(weights, Sgd(RATE), workers, min(splits, workers))


RULES: dict[str, MakeRule] = {
    "asynchronous": asynchronous,
    "momentum": lambda weights, workers: Asynchronous(weights, Sgd(RATE, 0.9), workers),
    "Downpour": lambda weights, workers: Downpour(weights, RATE, workers),
    "synchronous": synchronous,
    "spare replicas": spare,
    "1-softsync": soft(1),
    "2-softsync": soft(2),
    "bound 0": bounded(0),
    "bound 2": bounded(2),
}
CURED: dict[str, MakeRule] = {
    "lower rate": lambda w, n: LowerRate(asynchronous(w, n), 0.3),
    "drop": lambda w, n: DropStale(asynchronous(w, n), 2),
    "drop in a bound": lambda w, n: DropStale(bounded(1)(w, n), 1),
    "drop in softsync": lambda w, n: DropStale(soft(2)(w, n), 1),
    "drop with spares": lambda w, n: DropStale(spare(w, n), 0),
    "drop in sync": lambda w, n: DropStale(synchronous(w, n), 0),
    "scale": lambda w, n: ScaleByStaleness(asynchronous(w, n)),
    "compensation": lambda w, n: DelayCompensation(asynchronous(w, n), 0.5),
    "batch": lambda w, n: BatchRows(soft(2)(w, n), 3),
    "warm async": lambda w, n: Warmup(asynchronous(w, n), 3),
    "warm sync": lambda w, n: Warmup(synchronous(w, n), 3),
    "warm spares": lambda w, n: Warmup(spare(w, n), 3),
    "warm bound": lambda w, n: Warmup(bounded(1)(w, n), 3),
    "warm softsync": lambda w, n: Warmup(soft(2)(w, n), 3),
    "all": lambda w, n: Warmup(
        DropStale(
            ScaleByStaleness(
                DelayCompensation(LowerRate(BatchRows(bounded(2)(w, n), 3), 0.5), 0.1)
            ),
            3,
        ),
        2,
    ),
    "all, the other way round": lambda w, n: BatchRows(
        LowerRate(
            DelayCompensation(DropStale(ScaleByStaleness(Warmup(soft(2)(w, n), 2)), 3), 0.1), 0.5
        ),
        3,
    ),
}
EVERY = {**RULES, **CURED}
# Rules with what their workers do between pull and push.
TRAINED: dict[str, tuple[MakeRule, Callable[[], Client]]] = {
    **{
        name: (EVERY[name], Client)
        for name in (
            "asynchronous", "synchronous", "spare replicas", "2-softsync", "bound 2", "all", "batch"
        )
    },
    "averaging": (Averaging, lambda: LocalSteps(0.1, 3)),
    "diloco": (DiLoCo, lambda: LocalSteps(AdamW(0.02), 3)),
    "downpour": (EVERY["Downpour"], lambda: DownpourClient(RATE, 2, 3)),
    "downpour, often": (EVERY["Downpour"], lambda: DownpourClient(RATE, 3, 1)),
}  # fmt: skip

# Each number picks one of those that can act now; 60 is a multiple of 1 to 5.
orders = st.lists(st.integers(0, 59), min_size=1, max_size=60)


def inside(rule: Rule) -> Rule:
    """A rule without its cures."""
    while hasattr(rule, "rule"):
        rule = rule.rule
    return rule


class Arrivals:
    """Workers around a rule: who is going and on what weights, and what became of each push.

    gradient: of a worker, the number of its push among all, and the weights that it was given.
    Each release is checked: only who waits is released, and only once.
    """

    def __init__(self, rule: Rule, gradient: Callable[[int, int, Any], Any]) -> None:
        self.rule, self.gradient = rule, gradient
        self.going: dict[int, tuple[Any, int]] = {}
        self.decisions: list[Decision] = []
        self.sent: list[tuple[int, int]] = []  # worker and version of each push
        self._release(rule.start())

    def arrive(self, pick: int) -> Decision:
        """One of those who are going pushes. An AssertionError where nobody is."""
        assert self.going, f"a deadlock: {sorted(self.rule.workers)} wait for ever"
        worker = sorted(self.going)[pick % len(self.going)]
        weights, version = self.going.pop(worker)
        gradient = frozen(self.gradient(worker, len(self.sent), weights))
        self.sent.append((worker, version))
        before = self.rule.version
        decision = self.rule.arrive(worker, gradient, version)
        self._follow(decision, before)
        return decision

    def leave(self, pick: int) -> Decision:
        """One of those who take part leaves for good."""
        worker = sorted(self.rule.workers)[pick % len(self.rule.workers)]
        self.going.pop(worker, None)
        before = self.rule.version
        decision = self.rule.leave(worker)
        self._follow(decision, before)
        assert worker not in self.rule.workers
        return decision

    def run(self, order: Sequence[int]) -> Any:
        """Let one push for each number. Returns: the weights."""
        for pick in order:
            self.arrive(pick)
        return self.rule.weights

    @property
    def applied(self) -> list[Any]:
        """The gradients that were applied, in order."""
        return [push for decision in self.decisions for push in decision.applied]

    @property
    def dropped(self) -> list[Any]:
        """The gradients that were dropped, in order."""
        return [push for decision in self.decisions for push in decision.dropped]

    def _follow(self, decision: Decision, before: int) -> None:
        # An update raises the version by one, and nothing else does.
        assert self.rule.version == before + bool(decision.applied)
        self.decisions.append(decision)
        self._release(decision.release)

    def _release(self, workers: Sequence[int]) -> None:
        for worker in workers:
            assert worker in self.rule.workers, f"worker {worker} has left and is released"
            assert worker not in self.going, f"worker {worker} is going and is released again"
            weights, version = self.rule.pull(worker)
            assert version == self.rule.version
            self.going[worker] = frozen(weights), version


def frozen(array: Any) -> Any:
    """The array; where it is numpy's, changing it in place is an error from now on."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


def noisy(size: int = 4) -> Callable[[int, int, Any], Any]:
    """Gradients that depend on worker, push and weights; numpy or torch, as the weights are."""
    random = np.random.default_rng(5)
    noise = [random.standard_normal(size) for _ in range(400)]

    def gradient(worker: int, number: int, weights: Any) -> Any:
        drawn = noise[(number * 7 + worker) % len(noise)]
        return 0.3 * weights + (drawn if isinstance(weights, np.ndarray) else as_torch(drawn))

    return gradient


def one_hot(size: int = 400) -> Callable[[int, int, Any], Any]:
    """The gradient of push number i is 1 at i: the weights show which ones are in."""
    return lambda worker, number, weights: np.eye(1, size, number)[0]


def as_torch(array: Any) -> Any:
    """A copy of a numpy array for torch."""
    import torch

    return torch.tensor(array)
