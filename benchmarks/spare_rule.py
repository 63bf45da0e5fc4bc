"""What a step takes under the rule of lesson 07, run on the clock, and the hours that follow.

Unlike in `order_statistics` the workers do not begin every step together: who was late goes on
with the step that is under way. No gradients are computed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from helpers.lessons.spare_replicas.experiments.arrivals import synchronous
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers, iterations

SPELLS = 1000  # about 2900 steps
START = 100  # steps that are left out: at first all begin together


def step_seconds(
    model: FittedStragglers, aggregate: int, workers: int, spells: int = SPELLS, seed: int = 0
) -> np.ndarray:
    """The seconds between the updates of `aggregate` of `workers` gradients: (steps,)."""
    table = model.table(spells, workers, seed)
    updates = synchronous(table, aggregate, spell=model.spell).seconds
    return np.diff(updates)[START:]


def rule_hours(
    model: FittedStragglers, aggregated: Iterable[int], spells: int = SPELLS, seed: int = 0
) -> dict[int, float]:
    """Hours to converge with N of 100 workers, for each N that is asked for: {N: hours}."""
    found = {}
    for n in aggregated:
        seconds = step_seconds(model, n, 100, spells, seed).mean()
        found[n] = float(iterations([n])[0] * seconds / 3600)
    return found
