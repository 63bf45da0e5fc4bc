"""Synchronous, asynchronous and spare replicas race to a target, among published stragglers.

Real gradients on the digits, on the virtual clock, with step times fitted to Chen et al. (2017).
Each contender has the learning rate (0.001 to 1) and momentum (0 or 0.9) that were quickest for it,
of the same grid, on seeds 1000 to 1002; the race is run on other seeds.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.engine.servers.rule import Array, Rule
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import (
    Asynchronous,
    SpareReplicas,
    Synchronous,
)

TARGET = 5.0  # % test error
SECONDS = 250.0  # of virtual time, after which a training ends
ROWS = 8  # of a worker's batch
KINDS = ("synchronous", "asynchronous", "spare replicas")


@dataclass(frozen=True)
class Contender:
    """One way to train. kind: one of KINDS. Spare replicas aggregate 96 % of the workers."""

    kind: str
    workers: int
    rate: float
    momentum: float

    def rule(self, weights: Array) -> Rule:
        """Its update rule."""
        optimizer = Sgd(self.rate, self.momentum)
        if self.kind == "synchronous":
            return Synchronous(weights, optimizer, self.workers)
        if self.kind == "asynchronous":
            return Asynchronous(weights, optimizer, self.workers)
        return SpareReplicas(weights, optimizer, self.workers, aggregate_of(self.workers))


def aggregate_of(workers: int) -> int:
    """How many gradients a step takes with spare replicas: 96 of 100, as the paper found best."""
    return round(0.96 * workers)


# Learning rate and momentum.
TUNED = {
    ("synchronous", 100): (0.2, 0.9),
    ("asynchronous", 100): (0.005, 0.0),
    ("spare replicas", 100): (0.2, 0.9),
    ("synchronous", 50): (0.2, 0.9),
    ("asynchronous", 50): (0.01, 0.0),
    ("spare replicas", 50): (0.2, 0.9),
}


def contenders(workers: int) -> list[Contender]:
    """The three, each as it was quickest. workers: 50 or 100."""
    return [Contender(kind, workers, *TUNED[kind, workers]) for kind in KINDS]
