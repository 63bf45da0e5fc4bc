"""The four ways on a clock: a model of what a client, workers and their stragglers cost.

One call of `session.run` keeps its client's Python busy for a while; a gradient takes its worker's
time. In-graph there is one client for all, between-graph each worker has its own. Everything else
takes no time.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

GRADIENTS = 600
WAYS = ("in-graph sync", "between-graph sync", "in-graph async", "between-graph async")


class Modelled(NamedTuple):
    """batches: a second, of all workers. staleness: the mean over all gradients."""

    batches: float
    staleness: float


def model(way: str, workers: int, compute: float, client: float, slow: float) -> Modelled:
    """One way's rate and staleness.

    compute: seconds of a gradient, give or take a tenth. client: seconds that a client's Python
    needs for each `session.run`. slow: how many times as long the last worker takes.
    """
    random = np.random.default_rng(0)
    times = compute * random.uniform(0.9, 1.1, (GRADIENTS, workers))
    times[:, -1] *= slow
    if way.endswith(" sync"):
        # In-graph one run makes a step; between-graph each client has one, all at once.
        return Modelled(workers / float((client + times.max(axis=1)).mean()), 0.0)
    return _asynchronous(way, times, client)


def _asynchronous(way: str, times: np.ndarray, client: float) -> Modelled:
    """Each worker goes round: its client's Python, its gradient, its update."""
    workers = times.shape[1]
    free = [0.0] * workers if way.startswith("between") else [0.0]
    updates, stale, now = 0, 0, 0.0
    # What happens next: (when, worker, the version that it has read; None: it needs its client).
    events: list[tuple[float, int, int]] = [(0.0, worker, -1) for worker in range(workers)]
    rounds = [0] * workers
    while updates < GRADIENTS:
        now, worker, version = heapq.heappop(events)
        mine = worker % len(free)
        if version == -1:
            start = max(now, free[mine])
            free[mine] = start + client
            heapq.heappush(events, (start + client, worker, -2))
        elif version == -2:
            seconds = times[rounds[worker] % GRADIENTS, worker]
            rounds[worker] += 1
            heapq.heappush(events, (now + seconds, worker, updates))
        else:
            stale += updates - version
            updates += 1
            heapq.heappush(events, (now, worker, -1))
    return Modelled(updates / now, stale / updates)
