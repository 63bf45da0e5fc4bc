"""RMSProp as A3C's actors share it: one running mean of squares for all of them, in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

Rate = float | Callable[[int], float]


def shared_rms_prop(
    weights: Tensor,
    squares: Tensor,
    gradient: Tensor,
    rate: float,
    decay: float = 0.99,
    epsilon: float = 1e-5,
) -> None:
    """s ← α·s + (1 − α)·g², w ← w − η·g / √(s + ε), in place: others may see it half done.

    weights, squares, gradient: (weights,), float32; the first two are changed where they lie, which
    may be memory that several actors share. rate: η. decay: α. epsilon: ε. Source: Mnih et al.
    (2016), section 4, "Optimization": of the ways to share it, this was the most robust.
    """
    squares.mul_(decay).addcmul_(gradient, gradient, value=1 - decay)
    weights.addcdiv_(gradient, (squares + epsilon).sqrt_(), value=-rate)


class RmsProp:
    """The same as a parameter server's optimizer: it makes new weights and leaves the old ones.

    rate: η, or a function of the version, such as `annealed`. With one worker it gives the weights
    that one actor gives with `shared_rms_prop`, bit for bit.
    """

    def __init__(self, rate: Rate, decay: float = 0.99, epsilon: float = 1e-5) -> None:
        if not callable(rate) and not rate > 0:
            raise ValueError(f"A learning rate is above 0, not {rate}.")
        if not 0 <= decay < 1:
            raise ValueError(f"The squares' decay lies from 0 up to 1, not at {decay}.")
        if not (epsilon > 0 and math.isfinite(epsilon)):
            raise ValueError(f"Epsilon is above 0, or it would divide by nothing; not {epsilon}.")
        self.rate, self.decay, self.epsilon = rate, decay, epsilon
        self.factor = 1.0
        self._squares: Tensor | None = None

    def step(self, weights: Tensor, gradient: Tensor, version: int) -> Tensor:
        """The weights after one update, as a new tensor, (weights,)."""
        new, gradient = torch.as_tensor(weights).clone(), torch.as_tensor(gradient)
        squares = torch.zeros_like(new) if self._squares is None else self._squares.clone()
        rate = self.factor * (self.rate(version) if callable(self.rate) else self.rate)
        shared_rms_prop(new, squares, gradient, rate, self.decay, self.epsilon)
        self._squares = squares  # a new one: a copy of this optimizer keeps its own
        return new


def annealed(rate: float, updates: int) -> Callable[[int], float]:
    """A learning rate that falls in a straight line from `rate` to 0 over so many updates.

    Source: Mnih et al. (2016), the supplement on the experimental setup.
    """
    if not rate > 0:
        raise ValueError(f"A learning rate is above 0, not {rate}.")
    if updates < 1:
        raise ValueError(f"A rate falls over at least one update, not {updates}.")
    return partial(_annealed_at, rate, updates)  # which can be sent to another process


def _annealed_at(rate: float, updates: int, version: int) -> float:
    return rate * max(0.0, 1 - version / updates)
