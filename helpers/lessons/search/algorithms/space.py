"""Random search: the values that a trial gets from the ranges of its hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from helpers.lessons.search.algorithms.ranges import Range


def draw(space: Mapping[str, Range], trial: int, seed: int = 0) -> dict[str, Any]:
    """A trial's hyperparameters, by name: random search.

    They depend on the seed, the trial's number and the names, and on nothing else: not on who asks,
    when, or for which trials before.
    Source: Bergstra and Bengio, "Random Search for Hyper-Parameter Optimization" (2012).
    """
    places = np.random.default_rng([seed, trial]).random(len(space))
    return {name: space[name].at(float(p)) for name, p in zip(sorted(space), places, strict=True)}
