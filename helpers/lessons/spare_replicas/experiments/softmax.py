"""Softmax regression on the digits in numpy: a model with two variables that anyone can compute.

Rows are a pair: pictures (rows, 64) float32 and classes (rows,) int64. Weights are a pair too:
a matrix (64, 10) and a bias (10,).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

Rows = tuple[np.ndarray, np.ndarray]


def training_rows() -> Rows:
    """The digits' training rows."""
    from helpers.lessons.data_parallel.experiments.digits import digits

    data = digits()
    return data.train_x.numpy(), data.train_y.numpy()


def initial(rows: Rows) -> list[np.ndarray]:
    """The weights that training starts from, all zero."""
    classes = int(rows[1].max()) + 1
    return [np.zeros((rows[0].shape[1], classes), np.float32), np.zeros(classes, np.float32)]


def batches(rows: int, size: int, seed: int, worker: int) -> Iterator[np.ndarray]:
    """A worker's batches, for ever: the numbers of `size` rows out of so many."""
    random = np.random.default_rng((seed, worker))
    while True:
        yield random.choice(rows, size, replace=False)


def gradients(weights: Sequence[np.ndarray], rows: Rows, chosen: np.ndarray) -> list[np.ndarray]:
    """The gradients of the mean cross-entropy over the chosen rows."""
    x, y = rows[0][chosen], rows[1][chosen]
    slope = softmax(x @ weights[0] + weights[1])
    slope[np.arange(len(y)), y] -= 1
    slope /= np.float32(len(y))
    return [x.T @ slope, slope.sum(0)]


def loss(weights: Sequence[np.ndarray], rows: Rows) -> float:
    """The mean cross-entropy over all rows, in nats."""
    chances = softmax(rows[0] @ weights[0] + weights[1])
    return float(-np.log(chances[np.arange(len(rows[1])), rows[1]]).mean())


def softmax(logits: np.ndarray) -> np.ndarray:
    """Along the last axis."""
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))
