"""How long a data-parallel step takes on N workers, and what of N is left as a speedup.

A worker computes for `compute` seconds and then all exchange `nbytes` of gradients. Round a ring
each worker's link carries 2(N − 1)/N of them each way (Patarasuk and Yuan, 2009); at S parameter
servers every server's link carries N/S of them each way, pulled and then pushed (Li et al., 2014,
section 5.1). The α–β model of lesson 02 turns bytes into seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helpers.lessons.messages.algorithms.cost_model import predicted_seconds


def ring_speedup(
    workers: int, compute: float, nbytes: float, latency: float, bandwidth: float
) -> float:
    """How many times as many rows a second N workers take as one, each with a batch of its own.

    compute: seconds in which a worker computes its gradients. nbytes: of them. latency: α, in
    seconds a message. bandwidth: of each worker's link, each way, in bytes a second.
    """
    exchange = predicted_seconds("all_reduce_ring", workers, nbytes, latency, bandwidth)
    return workers * compute / (compute + exchange)


def server_seconds(
    workers: int, servers: int, nbytes: float, latency: float, bandwidth: float
) -> float:
    """Seconds in which N workers pull all weights from S servers, and then push all gradients.

    nbytes: of all weights, of which each server has 1/S. Every worker and server has a host of its
    own, whose link carries `bandwidth` bytes a second each way. Either the servers' links are full,
    with N/S of the bytes, or the workers', with all of them once. latency: of a message, in s.
    """
    return 2 * (latency + max(workers / servers, 1) * nbytes / bandwidth)


class StepFit(NamedTuple):
    """What short runs say of a machine.

    compute: seconds that a worker computes. latency: α, seconds a message. share: of the links'
    raw bandwidth, what gets through to tensors.
    """

    compute: float
    latency: float
    share: float

    def seconds(self, workers: int, nbytes: float, bandwidth: float) -> float:
        """What a step on so many workers takes, over links of so many bytes a second."""
        links = self.latency, self.share * bandwidth
        return self.compute + predicted_seconds("all_reduce_ring", workers, nbytes, *links)


def fit_steps(
    workers: Sequence[int], seconds: Sequence[float], nbytes: float, bandwidth: float
) -> StepFit:
    """Compute time, α and share of the bandwidth that explain measured steps best.

    workers, seconds: of each run, (runs,), one worker alone among them. nbytes: of all gradients.
    bandwidth: of the runs' links, raw, in bytes a second. Least squares of the relative errors;
    none of the three comes out below zero. Raises ValueError where runs are missing.
    """
    n, t = np.asarray(workers, float), np.asarray(seconds, float)
    if n.shape != t.shape or n.ndim != 1 or 1 not in n or len(np.unique(n)) < 3:
        raise ValueError(
            "A fit needs one time for each run, and runs of 1 worker and of two other numbers."
        )
    if not (np.all(t > 0) and nbytes > 0 and bandwidth > 0):
        raise ValueError("Times, bytes and bandwidth must be above zero.")
    steps = 2 * (n - 1)
    columns = np.stack([np.ones_like(n), steps, steps * nbytes / n / bandwidth], axis=1)
    weighted = columns / t[:, None]  # relative errors: each row should give 1
    compute, latency, slowness = _least_squares_above_zero(weighted, np.ones_like(t))
    return StepFit(compute, latency, 1 / slowness if slowness else np.inf)


def _least_squares_above_zero(columns: np.ndarray, wanted: np.ndarray) -> tuple[float, ...]:
    """Least squares with no coefficient below zero: the best of all choices of those above."""
    count = columns.shape[1]
    best, least = np.zeros(count), np.inf
    for chosen in range(1, 2**count):
        which = [index for index in range(count) if chosen >> index & 1]
        found = np.linalg.lstsq(columns[:, which], wanted, rcond=None)[0]
        error = float(np.square(columns[:, which] @ found - wanted).sum())
        if (found >= 0).all() and error < least - 1e-15:
            best, least = np.zeros(count), error
            best[which] = found
    return tuple(float(value) for value in best)
