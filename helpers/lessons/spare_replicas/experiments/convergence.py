"""How many iterations training takes with N gradients a step, as published.

Chen et al., "Revisiting Distributed Synchronous SGD" (arXiv 1604.00981, 2017 version), section
4.1. Hours are these iterations, times the mean time to the N-th of N + b gradients.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.notebook.published import load

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
