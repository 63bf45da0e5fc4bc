"""Right answers to lesson 06 that differ from the references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.engine.servers.cure import Cure
from helpers.engine.servers.rule import Decision, Push, Rule


class AsynchronousByHand(Rule):
    """Takes the step and makes the push itself, with lists for tuples."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Step, count, decide."""
        push = Push(worker, version, self.version - version)
        assert self.optimizer is not None
        self.weights = self.optimizer.step(self.weights, gradient, self.version)
        self.version += 1
        return Decision([worker], [push])  # type: ignore[arg-type]


def descent_in_an_array(rate: float, staleness: int, noise: list[float]) -> Any:
    """The starts of all workers stand before the path."""
    path = np.ones(staleness + 1 + len(noise))
    for step, error in enumerate(noise):
        path[staleness + step + 1] = path[staleness + step] - rate * path[step] - rate * error
    return path[staleness:]


class DropByHand(Cure):
    """Makes the decision itself."""

    def __init__(self, rule: Rule, limit: int) -> None:
        super().__init__(rule)
        self.limit = limit

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Compare versions."""
        if self.version - self.limit > version:
            return Decision((worker,), (), (self.push(worker, version),))
        return super().arrive(worker, gradient, version)


class ScaleByVersions(Cure):
    """Multiplies a copy, and only where it has to."""

    def __init__(self, rule: Rule, limit: int = 1) -> None:
        super().__init__(rule)
        self.limit = limit

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Scale what is late."""
        late = self.version - version
        if late > self.limit:
            gradient = gradient.clone().mul_(self.limit).div_(late)
        return self.rule.arrive(worker, gradient, version)


class CompensateFromAPair(Cure):
    """Keeps a copy and the version for each worker, and builds its decision anew."""

    def __init__(self, rule: Rule, strength: float) -> None:
        super().__init__(rule)
        self.strength = strength
        self.known: list[tuple[Any, int]] = [(None, -1)] * len(rule.workers)

    def pull(self, worker: int) -> tuple[Any, int]:
        """Remember both."""
        weights, version = super().pull(worker)
        self.known[worker] = (weights.clone(), version)
        return weights, version

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """g·(1 + λ·g·moved)."""
        moved = self.weights - self.known[worker][0]
        scaled = gradient * (1 + self.strength * gradient * moved)
        decision = super().arrive(worker, scaled, version)
        return Decision(decision.release, decision.applied, decision.dropped)


class WarmupByApplying(Cure):
    """Makes the lone worker's updates itself."""

    def __init__(self, rule: Rule, updates: int) -> None:
        super().__init__(rule)
        self.updates = updates

    def start(self) -> tuple[int, ...]:
        """The smallest number of those that start, or all."""
        if self.version >= self.updates:
            return self.rule.start()
        return (min(self.rule.start()),)

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Apply while it is alone."""
        if self.version >= self.updates:
            return self.rule.arrive(worker, gradient, version)
        push = self.push(worker, version)
        self.apply(gradient)
        over = self.version == self.updates
        return Decision(self.rule.start() if over else (worker,), (push,))


class BoundedByArray(Rule):
    """Clocks in an array, where one that has left is infinitely far; gives lists."""

    def __init__(self, weights: Any, optimizer: Any, workers: int, bound: float) -> None:
        super().__init__(weights, optimizer, workers)
        self.bound = bound
        self.clocks = np.zeros(workers)
        self.waits = np.zeros(workers, dtype=bool)

    def awake(self) -> Any:
        """Who may go on, as an array of numbers."""
        ready = self.waits & (self.clocks - self.clocks.min() <= self.bound)
        self.waits &= ~ready
        return np.flatnonzero(ready)

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Apply, count, ask."""
        push = self.push(worker, version)
        self.apply(gradient)
        self.clocks[worker] += 1
        self.waits[worker] = True
        return Decision(self.awake(), [push])  # type: ignore[arg-type]

    def leave(self, worker: int) -> Decision:
        """Nobody waits for what is infinitely far."""
        super().leave(worker)
        self.clocks[worker], self.waits[worker] = np.inf, False
        return Decision(self.awake() if self.workers else ())


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("06.1", AsynchronousByHand),
    ("06.2", descent_in_an_array),
    ("06.3", DropByHand),
    ("06.4", ScaleByVersions),
    ("06.5", CompensateFromAPair),
    ("06.6", WarmupByApplying),
    ("06.7", BoundedByArray),
]
