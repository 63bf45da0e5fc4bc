"""What all frameworks train: the batches, the weights at the start, and the run without ranks.

All of it is numpy, so that no framework has a say in it. A network of 64 inputs, 32 hidden units
with tanh and 10 classes learns the digits with plain SGD in float32. Each step uses 60 rows, which
are dealt out to the ranks, so that the ranks together take the step that one process would take.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from helpers.lessons.data_parallel.experiments.pictures import pictures

WIDTHS = (64, 32, 10)
BATCH = 60  # divides among 2, 3, 4, 5 and 6 ranks
RATE = 0.5
SEED = 0


class Task(NamedTuple):
    """The rows of every step, and the network.

    x: (steps, rows, 64) float32, from 0 to 1. y: (steps, rows) int64. widths: of the layers.
    """

    x: np.ndarray
    y: np.ndarray
    widths: tuple[int, ...] = WIDTHS


class Part(NamedTuple):
    """What one replica brings home.

    losses: of each step, the mean over the rows that it saw. weights: at the end, in torch's
    layout. seconds: that the steps took. notes: what else the way has to say.
    """

    losses: list[float]
    weights: list[np.ndarray]
    seconds: float
    notes: dict[str, Any]


def task(steps: int = 50, widths: Sequence[int] = WIDTHS, seed: int = SEED) -> Task:
    """The batches of a run: the digits in a new order each epoch, the same on every machine."""
    (pixels, classes), random = pictures(), np.random.default_rng(seed)
    an_epoch = len(classes) // BATCH
    orders = [random.permutation(len(classes)) for _ in range(-(-steps // an_epoch))]
    rows = np.concatenate([order[: an_epoch * BATCH] for order in orders])[: steps * BATCH]
    x = (pixels[rows] / 16).astype(np.float32).reshape(steps, BATCH, -1)
    return Task(x, classes[rows].reshape(steps, BATCH), tuple(widths))


def share(whole: Task, rank: int, size: int) -> Task:
    """The rows of one rank, in every step. Raises ValueError where they do not divide evenly.

    With equal shares the mean of the ranks' means is the mean over all rows, which is what every
    framework takes it for.
    """
    rows = whole.y.shape[1]
    if rows % size:
        raise ValueError(
            f"{rows} rows do not divide evenly among {size} ranks: take 2, 3, 4, 5 or 6."
        )
    mine = slice(rank * rows // size, (rank + 1) * rows // size)
    return Task(whole.x[:, mine], whole.y[:, mine], whole.widths)


def weights(seed: int = SEED, widths: Sequence[int] = WIDTHS) -> list[np.ndarray]:
    """The weights at the start, in torch's layout: (32, 64), (32,), (10, 32), (10,).

    Rank r starts from `weights(seed=r)`: only rank 0 has those that training is to start from,
    so a broadcast that is forgotten shows.
    """
    random = np.random.default_rng((seed, 4))
    made = []
    for inputs, outputs in pairwise(widths):
        limit = inputs**-0.5
        made.append(random.uniform(-limit, limit, (outputs, inputs)).astype(np.float32))
        made.append(random.uniform(-limit, limit, outputs).astype(np.float32))
    return made


def turned(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The same weights in the other layout: Keras's matrices are torch's, transposed."""
    return [np.ascontiguousarray(array.T) for array in arrays]


def furthest(some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> float:
    """The largest difference between two lists of weights; not a number where one is none."""
    return max(float(np.abs(a - b).max()) for a, b in zip(some, others, strict=True))


def checksum(arrays: Sequence[np.ndarray]) -> float:
    """One number for all weights: each times a cosine of its own, so that their order matters."""
    flat = np.concatenate([np.ravel(array) for array in arrays]).astype(np.float64)
    return float(flat @ np.cos(np.arange(len(flat))))
