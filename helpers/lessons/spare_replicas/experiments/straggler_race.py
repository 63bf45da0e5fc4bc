"""Synchronous, asynchronous and spare replicas race to a target, among published stragglers.

Real gradients on the digits, on the virtual clock, with step times fitted to Chen et al. (2017).
Each contender has the learning rate (0.001 to 1) and momentum (0 or 0.9) that were quickest for it,
of the same grid, on seeds 1000 to 1002; the race is run on other seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from helpers.engine.servers.rule import Array, Rule
from helpers.engine.servers.training import Point, Training
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import (
    Asynchronous,
    SpareReplicas,
    Synchronous,
)
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers

TARGET = 5.0  # % test error, as the mean of LOOKS looks, so that a lucky one does not count
LOOKS = 5
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

    def train(self, seed: int) -> Training:
        """Train for SECONDS, and look at the test error about once a step."""
        import helpers

        return helpers.train(
            self.rule,
            workers=self.workers,
            task=DigitsTask(seed=seed),
            batch=ROWS,
            times=FittedStragglers(),
            seed=seed,
            seconds=SECONDS,
            evaluate_every=self.workers if self.kind == "asynchronous" else 1,
        )


@dataclass(frozen=True)
class Result:
    """One contender's race. seconds: to the target, infinity for never. error: the mean test
    error in % over the last tenth of the time."""

    contender: Contender
    seed: int
    seconds: float
    error: float
    training: Training


def aggregate_of(workers: int) -> int:
    """How many gradients a step takes with spare replicas: 96 of 100, as the paper found best."""
    return round(0.96 * workers)


def seconds_to_target(curve: Sequence[Point]) -> float:
    """When the mean of the last LOOKS errors was first at or below TARGET; infinity for never."""
    for number in range(LOOKS, len(curve) + 1):
        if mean(point.error for point in curve[number - LOOKS : number]) <= TARGET:
            return curve[number - 1].seconds
    return math.inf


def race(contender: Contender, seed: int) -> Result:
    """Train for the whole time."""
    done = contender.train(seed)
    late = [point.error for point in done.curve if point.seconds >= 0.9 * SECONDS]
    error = mean(late or [done.error])
    return Result(contender, seed, seconds_to_target(done.curve), error, done)


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
