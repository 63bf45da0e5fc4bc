"""The model of lesson 08's cases, followed by hand: a line through each replica's few points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.compare import all_close

TOLERANCE = 2e-4
Weights = list[np.ndarray]
Rows = list[tuple[np.ndarray, np.ndarray]]


def world(random: np.random.Generator, replicas: int) -> tuple[Rows, Weights, float]:
    """Each replica's rows (4, 3) and targets (4, 1), the weights to start from, and a rate.

    Targets of different replicas lie far apart, so that their gradients differ clearly.
    """
    rows: Rows = []
    for replica in range(replicas):
        x = np.round(random.uniform(0.5, 1.5, (4, 3)), 2).astype(np.float32)
        y = np.round(random.uniform(-1, 1, (4, 1)) + 3 + 2 * replica, 2).astype(np.float32)
        rows.append((x, y))
    start = [
        np.round(random.uniform(-0.5, 0.5, (3, 1)), 2).astype(np.float32),
        np.round(random.uniform(-0.5, 0.5, 1), 2).astype(np.float32),
    ]
    return rows, start, float(random.choice([0.0625, 0.125]))


def gradient(rows: tuple[np.ndarray, np.ndarray], weights: Weights) -> Weights:
    """The gradient of half the mean squared error, in float64."""
    x, y = (each.astype(np.float64) for each in rows)
    error = (x @ weights[0] + weights[1] - y) / len(x)
    return [x.T @ error, error.sum(0)]


def step(weights: Weights, gradients: Sequence[Weights], rate: float, share: float) -> Weights:
    """The weights after `rate · share` times the sum of some gradients."""
    totals = [sum(parts) for parts in zip(*gradients, strict=True)]
    return [w - rate * share * t for w, t in zip(weights, totals, strict=True)]


def synchronous(rows: Rows, weights: Weights, rate: float) -> Weights:
    """The weights after one step with the mean over all replicas."""
    return step(weights, [gradient(each, weights) for each in rows], rate, 1 / len(rows))


def same(got: Any, want: Weights) -> bool:
    """Whether weights are those that are wanted."""
    return all_close(got, [np.asarray(each) for each in want], TOLERANCE)
