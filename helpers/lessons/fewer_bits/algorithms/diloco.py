"""A supervisor whose mean is no command but a gradient: DiLoCo's outer optimizer."""

from __future__ import annotations

import copy
from collections.abc import Iterable

from helpers.engine.servers.rule import Optimizer
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Array, Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Averaging


class DiLoCo(Averaging):
    """As Averaging, but what the workers moved on average is a gradient, for an outer optimizer.

    outer: Nesterov momentum at first. With `Sgd(1.0)` it is `Averaging`. Its clients are
    `clients.LocalSteps(AdamW(…), interval)`. Source: Douillard et al., "DiLoCo: Distributed
    Low-Communication Training of Language Models" (2023), algorithm 1.
    """

    def __init__(
        self, weights: Array, workers: int | Iterable[int], outer: Optimizer | None = None
    ) -> None:
        super().__init__(weights, workers)
        self.optimizer = copy.copy(outer) or Sgd(0.7, momentum=0.9, nesterov=True)

    def apply(self, gradient: Array) -> None:
        """Step from the old weights away from where the workers' mean weights, given here, lie."""
        assert self.optimizer is not None
        self.weights = self.optimizer.step(self.weights, self.weights - gradient, self.version)
        self.version += 1
