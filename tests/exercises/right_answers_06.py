"""Right answers to lesson 06 that differ from the references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Push, Rule


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


def descent_in_torch(rate: float, staleness: int, noise: list[float]) -> Any:
    """A list of tensors, in torch's usual seven digits."""
    path = [torch.tensor(1.0)]
    for step in range(len(noise)):
        path.append(path[-1] - rate * (path[max(step - staleness, 0)] + noise[step]))
    return path


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


class WarmupByStart(Cure):
    """Who goes on is always who starts: the lone worker, or everybody."""

    def __init__(self, rule: Rule, updates: int) -> None:
        super().__init__(rule)
        self.updates = updates

    def start(self) -> tuple[int, ...]:
        """All, or one."""
        return self.rule.start()[: 1 if self.version < self.updates else None]

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Apply, or hand on."""
        if self.version >= self.updates:
            return super().arrive(worker, gradient, version)
        self.rule.apply(gradient)
        return Decision(self.start(), (Push(worker, version, 0),))


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("06.1", AsynchronousByHand),
    ("06.2", descent_in_an_array),
    ("06.2", descent_in_torch),
    ("06.3", DropByHand),
    ("06.4", ScaleByVersions),
    ("06.5", CompensateFromAPair),
    ("06.6", WarmupByApplying),
    ("06.6", WarmupByStart),
]
