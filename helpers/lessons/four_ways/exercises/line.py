"""The model of lesson 08's cases, followed by hand: a line through each replica's few points."""

from typing import Any

import numpy as np

from helpers.checks.compare import all_close

Weights = list[np.ndarray]
Rows = list[tuple[np.ndarray, np.ndarray]]


def world(random: np.random.Generator, replicas: int) -> tuple[Rows, Weights, float]:
    """Each replica's rows (4, 3) and targets (4, 1), the weights to start from, and a rate.

    Targets of different replicas lie far apart, so that their gradients differ clearly.
    """

    def drawn(low: float, high: float, *shape: int, plus: float = 0.0) -> np.ndarray:
        return np.round(random.uniform(low, high, shape) + plus, 2).astype(np.float32)

    rows = [
        (drawn(0.5, 1.5, 4, 3), drawn(-1, 1, 4, 1, plus=3 + 2 * replica))
        for replica in range(replicas)
    ]
    start = [drawn(-0.5, 0.5, 3, 1), drawn(-0.5, 0.5, 1)]
    return rows, start, float(random.choice([0.0625, 0.125]))


def step(weights: Weights, rows: Rows, rate: float) -> Weights:
    """The weights after a step down the mean of some replicas' gradients.

    A gradient is that of half the mean squared error, in float64.
    """
    found = []
    for x, y in ((x.astype(np.float64), y.astype(np.float64)) for x, y in rows):
        error = (x @ weights[0] + weights[1] - y) / len(x)
        found.append([x.T @ error, error.sum(0)])
    totals = [sum(parts) for parts in zip(*found, strict=True)]
    return [w - rate / len(rows) * t for w, t in zip(weights, totals, strict=True)]


def same(got: Any, want: Weights) -> bool:
    """Whether weights are those that are wanted."""
    return all_close(got, want, 2e-4)
