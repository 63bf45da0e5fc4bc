"""The time to the k-th of n gradients, and the hours that follow from it: by formula and by rule.

What a step that waits for k workers takes. It is no helper of the course: lesson 07 asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from benchmarks.arrivals import synchronous
from helpers.lessons.parameter_servers.experiments.step_times import StepTimes
from helpers.lessons.spare_replicas.experiments.stragglers import (
    FEWEST,
    MOST,
    FittedStragglers,
    iterations,
)

AT_ONCE = 1_000_000  # times that are drawn and sorted at once
SPELLS = 1000  # about 2900 steps
START = 100  # steps that are left out: at first all begin together


def sorted_steps(
    model: StepTimes, workers: int, steps: int = 20_000, seed: int = 0
) -> Iterator[np.ndarray]:
    """Steps in which all workers begin together, in parts: each (some steps, workers), sorted.

    Column k − 1 holds the time to the k-th gradient, in seconds.
    """
    random = np.random.default_rng(seed)
    while steps > 0:
        part = min(steps, max(1, AT_ONCE // workers))
        times = model.draw(part, workers, random)
        times.sort(axis=1)
        yield times
        steps -= part


def times_to_kth(
    model: StepTimes, k: int, workers: int, steps: int = 20_000, seed: int = 0
) -> np.ndarray:
    """The time to the k-th of `workers` gradients in each step: (steps,) seconds.

    Raises ValueError where k is not between 1 and `workers`.
    """
    if not 1 <= k <= workers:
        raise ValueError(f"Of {workers} gradients there is a 1st to a {workers}th, not a {k}th.")
    parts = sorted_steps(model, workers, steps, seed)
    return np.concatenate([part[:, k - 1] for part in parts])


def mean_times_to_kth(
    model: StepTimes, workers: int, steps: int = 20_000, seed: int = 0
) -> np.ndarray:
    """The mean time to each of `workers` gradients: (workers,) seconds; the k-th's at k − 1."""
    total = np.zeros(workers)
    for part in sorted_steps(model, workers, steps, seed):
        total += part.sum(axis=0)
    return total / steps


def hours(
    model: StepTimes, workers: int = 100, steps: int = 20_000, seed: int = 0
) -> dict[int, float]:
    """Hours to converge for each N from 50 to 100 of `workers` = N + b: {N: hours}.

    Raises ValueError with fewer than 50 workers.
    """
    if workers < FEWEST:
        raise ValueError(f"Iterations are published from {FEWEST} workers on, not for {workers}.")
    aggregated = np.arange(FEWEST, min(workers, MOST) + 1)
    seconds = mean_times_to_kth(model, workers, steps, seed)[aggregated - 1]
    found = iterations(aggregated) * seconds / 3600
    return dict(zip(aggregated.tolist(), found.tolist(), strict=True))


def best(of: dict[int, float]) -> int:
    """The N with the fewest hours."""
    return min(of, key=of.__getitem__)


# --- the rule on the clock ------------------------------------------------------------------------


def step_seconds(
    model: FittedStragglers, aggregate: int, workers: int, spells: int = SPELLS, seed: int = 0
) -> np.ndarray:
    """The seconds between the updates of `aggregate` of `workers` gradients: (steps,).

    By the rule of lesson 07, run on the clock without gradients. Here the workers do not begin
    every step together: who was late goes on with the step that is under way.
    """
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
