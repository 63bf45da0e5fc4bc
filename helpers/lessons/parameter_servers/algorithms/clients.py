"""Workers that do more between pull and push than one gradient: Downpour's, and steps alone."""

from __future__ import annotations

import copy
from typing import Any

from helpers.engine.servers.client import Client
from helpers.engine.servers.rule import Optimizer
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd

Array = Any


class DownpourClient(Client):
    """Downpour's client: fetch every n_fetch steps, push the accrued gradient every n_push.

    Between fetches it steps on its own copy of the weights, w ← w − η·g, so that it does not
    compute the same gradient again. rate: η of these local steps. Source: Dean et al. (2012),
    section 4.1 and its appendix, algorithm 7.1.
    """

    def __init__(self, rate: float, n_fetch: int = 1, n_push: int = 1) -> None:
        super().__init__()
        if n_fetch < 1 or n_push < 1:
            raise ValueError(f"n_fetch={n_fetch}, n_push={n_push}: both are 1 or more.")
        _check(rate)
        self.rate, self.n_fetch, self.n_push = rate, n_fetch, n_push
        self.steps = 0
        self.accrued: Array = None

    def computed(self, gradient: Array) -> Array | None:
        """Accrue it, step locally, and push when it is time."""
        self.steps += 1
        self.accrued = gradient if self.accrued is None else self.accrued + gradient
        self.weights = self.weights - gradient * self.rate
        self.wants_weights = self.steps % self.n_fetch == 0
        if self.steps % self.n_push:
            return None
        push, self.accrued = self.accrued, None
        return push


class LocalSteps(Client):
    """Train alone for `interval` steps, then push the weights themselves, for a supervisor.

    rate: η of the local steps, or the optimizer that makes them, such as `AdamW(1e-3)`: a copy is
    taken, and its state stays when weights are pulled, as in DiLoCo.
    """

    pushes = "weights"

    def __init__(self, rate: float | Optimizer, interval: int) -> None:
        super().__init__()
        if interval < 1:
            raise ValueError(f"A worker takes at least one step alone, not {interval}.")
        if isinstance(rate, int | float):
            _check(rate)
            rate = Sgd(rate)
        self.optimizer = copy.copy(rate)
        self.interval = interval
        self.steps = 0

    def computed(self, gradient: Array) -> Array | None:
        """Step locally; push the weights at the end of the interval."""
        self.weights = self.optimizer.step(self.weights, gradient, self.steps)
        self.steps += 1
        if self.steps % self.interval:
            return None
        self.wants_weights = True
        return self.weights


def _check(rate: float) -> None:
    if not rate > 0:
        raise ValueError(f"The rate of local steps is above 0, not {rate}.")
