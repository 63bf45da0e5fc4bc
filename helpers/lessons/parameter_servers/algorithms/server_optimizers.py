"""What a parameter server does with an update: SGD with momentum, Adagrad, AdamW.

Arrays are flat numpy arrays or torch tensors. None is changed in place: a worker may still be
computing on the weights that it was given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

Array = Any
Rate = float | Callable[[int], float]


class Sgd:
    """Stochastic gradient descent: v ← μ·v + g, w ← w − η·v.

    rate: η, or a function of the version (the number of updates before this one). momentum: μ.
    nesterov: w ← w − η·(g + μ·v) instead, as torch's.
    """

    def __init__(self, rate: Rate, momentum: float = 0.0, nesterov: bool = False) -> None:
        _check(rate)
        if not 0 <= momentum < 1:
            raise ValueError(f"A momentum lies from 0 up to 1, not at {momentum}.")
        if nesterov and not momentum:
            raise ValueError("Nesterov's way looks ahead along a momentum, and there is none.")
        self.rate, self.momentum, self.nesterov = rate, momentum, nesterov
        self.factor = 1.0
        self._speed: Array | None = None

    def step(self, weights: Array, gradient: Array, version: int) -> Array:
        """The weights after one update, as a new array."""
        if self.momentum:
            kept = gradient if self._speed is None else self._speed * self.momentum + gradient
            self._speed = kept
            gradient = gradient + kept * self.momentum if self.nesterov else kept
        return weights - gradient * (self.factor * _rate_at(self.rate, version))


class Adagrad:
    """Adagrad, as on Downpour's servers: s ← s + g², w ← w − γ·g / √s, for each weight its own.

    rate: γ, or a function of the version. start: of every s, above 0, so that the first step is
    no larger than γ·g/√start. Source: Dean et al., "Large Scale Distributed Deep Networks"
    (2012), section 4.1; Duchi et al. (2011).
    """

    def __init__(self, rate: Rate, start: float = 0.1) -> None:
        _check(rate)
        if not start > 0:
            raise ValueError(f"The sums of squares start above 0, not at {start}.")
        self.rate, self.start = rate, start
        self.factor = 1.0
        self._squares: Array | None = None

    def step(self, weights: Array, gradient: Array, version: int) -> Array:
        """The weights after one update, as a new array."""
        before = self.start if self._squares is None else self._squares
        self._squares = gradient * gradient + before
        rate = self.factor * _rate_at(self.rate, version)
        return weights - gradient / self._squares**0.5 * rate


class AdamW:
    """Adam with weight decay of its own: m, v the means of g and g², w ← w − η·(m̂/(√v̂+ε) + λ·w).

    rate: η, or a function of the version. betas: β₁, β₂ of the two means. decay: λ.
    Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019), algorithm 2.
    """

    def __init__(
        self,
        rate: Rate,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        decay: float = 0.01,
    ) -> None:
        _check(rate)
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"The betas lie from 0 up to 1, not at {betas}.")
        self.rate, self.betas, self.epsilon, self.decay = rate, betas, epsilon, decay
        self.factor = 1.0
        self._steps = 0
        self._means: tuple[Array, Array] | None = None

    def step(self, weights: Array, gradient: Array, version: int) -> Array:
        """The weights after one update, as a new array."""
        first, second = self.betas
        m, v = (gradient * 0, gradient * 0) if self._means is None else self._means
        m = m * first + gradient * (1 - first)
        v = v * second + gradient * gradient * (1 - second)
        self._means, self._steps = (m, v), self._steps + 1
        rate = self.factor * _rate_at(self.rate, version)
        mean, square = m / (1 - first**self._steps), v / (1 - second**self._steps)
        return weights * (1 - rate * self.decay) - mean / (square**0.5 + self.epsilon) * rate


def cosine(rate: float, updates: int) -> Callable[[int], float]:
    """A learning rate that falls from `rate` to 0 over so many updates, along half a cosine."""
    _check(rate)
    if updates < 1:
        raise ValueError(f"A rate falls over at least one update, not {updates}.")
    return partial(_cosine_at, rate, updates)  # which a snapshot can hold, unlike a closure


def _cosine_at(rate: float, updates: int, version: int) -> float:
    return rate * (1 + math.cos(math.pi * min(version / updates, 1.0))) / 2


def _rate_at(rate: Rate, version: int) -> float:
    # A Python float keeps an array's own precision, which a numpy float64 would not.
    return float(rate(version) if callable(rate) else rate)


def _check(rate: Rate) -> None:
    if not callable(rate) and not rate > 0:
        raise ValueError(f"A learning rate is above 0, not {rate}.")
