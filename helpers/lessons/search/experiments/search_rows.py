"""The digits cut in three for a search, in numpy: clients do not load torch."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from helpers.lessons.data_parallel.experiments.pictures import pictures

HELD = 359  # a fifth


class Part(NamedTuple):
    """x: (rows, 64) float32, pixels from 0 to 1. y: (rows,) int64, 0 to 9. Arrays, or tensors."""

    x: Any
    y: Any

    def of(self, chosen: Any) -> Part:
        """Some of the rows."""
        return Part(self.x[chosen], self.y[chosen])


class Parts(NamedTuple):
    """Rows to train on, to choose by, and to judge the chosen one by: 1079, 359 and 359."""

    train: Part
    valid: Part
    test: Part


@lru_cache(maxsize=8)
def parts(seed: int = 0) -> Parts:
    """The digits, shuffled by a seed and cut in three; no row is in two parts."""
    pixels, classes = pictures()
    order = np.random.default_rng([seed, 16]).permutation(len(classes))
    valid, test, train = np.split(order, [HELD, 2 * HELD])
    x = (pixels / 16).astype(np.float32)
    return Parts(*(Part(x[rows], classes[rows]) for rows in (train, valid, test)))
