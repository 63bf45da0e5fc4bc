"""Hours to converge with spare replicas, from the published iterations and a straggler model.

Chen et al., "Revisiting Distributed Synchronous SGD" (arXiv 1604.00981, 2017 version), section
4.1: hours are the iterations that N gradients a step need, times the mean time to the N-th of
N + b gradients.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.workloads.order_statistics import mean_times_to_kth
from helpers.workloads.published import load
from helpers.workloads.step_times import StepTimes

FEWEST, MOST = 50, 100  # workers aggregated that the iterations are published for


def iterations(aggregated: Sequence[int] | np.ndarray) -> np.ndarray:
    """Iterations to converge by the number of gradients in each mean, N: (len(aggregated),).

    Published at 50, 70, 80, 90 and 100; straight lines lie between, as the paper's own hours ask
    for. Raises ValueError outside 50 to 100.
    """
    wanted = np.asarray(aggregated)
    if wanted.size and not (wanted.min() >= FEWEST and wanted.max() <= MOST):
        raise ValueError(
            f"Iterations are published for {FEWEST} to {MOST} gradients a step, not for "
            f"{wanted.min()} to {wanted.max()}."
        )
    points = load("chen2017_fig5_kiter").data
    return 1e3 * np.interp(wanted, [int(n) for n in points], list(points.values()))


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
