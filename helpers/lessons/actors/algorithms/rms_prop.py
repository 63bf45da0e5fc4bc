"""RMSProp as A3C's actors share it: one running mean of squares for all of them, in place."""

from __future__ import annotations

from torch import Tensor

DECAY, EPSILON = 0.99, 1e-5


def shared_rms_prop(weights: Tensor, squares: Tensor, gradient: Tensor, rate: float) -> None:
    """s ← α·s + (1 − α)·g², w ← w − η·g / √(s + ε), in place: others may see it half done.

    weights, squares, gradient: (weights,), float32; the first two are changed where they lie, which
    may be memory that several actors share. rate: η. α is DECAY, and ε is EPSILON. Source: Mnih et
    al. (2016), section 4, "Optimization": of the ways to share it, this was the most robust.
    """
    squares.mul_(DECAY).addcmul_(gradient, gradient, value=1 - DECAY)
    weights.addcdiv_(gradient, (squares + EPSILON).sqrt_(), value=-rate)


def annealed(rate: float, updates: int, version: int) -> float:
    """A learning rate that falls in a straight line from `rate` to 0 over so many updates.

    version: updates made before. Source: Mnih et al. (2016), the supplement on the experimental
    setup.
    """
    return rate * max(0.0, 1 - version / updates)
