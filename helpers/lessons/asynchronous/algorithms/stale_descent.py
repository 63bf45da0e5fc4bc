"""Gradient descent with gradients that are late: the smallest model of asynchronous training."""

from __future__ import annotations

import math
from collections.abc import Sequence


def delayed_descent(rate: float, staleness: int, noise: Sequence[float]) -> list[float]:
    """Minimise w²/2 with gradients that are `staleness` updates late; w starts at 1.

    w[t+1] = w[t] − rate · (w[max(t − staleness, 0)] + noise[t]), since the gradient of w²/2 is w
    and the first ones are all computed at the start. noise: what a batch's gradient is off, one an
    update. Returns: w[0] to w[len(noise)].
    """
    path = [1.0]
    for step, error in enumerate(noise):
        path.append(path[-1] - rate * (path[max(step - staleness, 0)] + error))
    return path


def highest_rate(staleness: int, curvature: float = 1.0) -> float:
    """Up to this rate, gradients that are exactly so many updates late bring descent to rest.

    2·sin(π / (4τ + 2)) / curvature: 2 for τ = 0, 1 for τ = 1, then about π / (2τ + 1). At this
    rate a swing of 4τ + 2 updates neither grows nor fades.
    """
    return 2 * math.sin(math.pi / (4 * staleness + 2)) / curvature
