"""A search on the virtual clock: workers of their own speeds, and every decision as it fell."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from helpers.lessons.search.algorithms.rungs import Job


class Search(Protocol):
    """What `SuccessiveHalving` and `Asha` are. losses: of each rung, by trial."""

    losses: list[dict[int, float]]
    resources: list[int]

    def next(self) -> Job | None:
        """What a free worker is to do."""

    def report(self, job: Job, loss: float) -> None:
        """A job's loss is known."""

    def give_up(self, job: Job) -> None:
        """A job's worker is gone."""

    def done(self) -> bool:
        """Whether nothing is left."""


def speeds(workers: int, spread: float = 4.0, seed: int = 0) -> list[float]:
    """Workers that differ: units of resource a second of each, drawn between 1 and `spread`."""
    if workers < 1 or spread < 1:
        raise ValueError(
            f"There is 1 worker or more, and the quickest is no slower than the slowest: not "
            f"{workers} workers with a spread of {spread}."
        )
    drawn = np.random.default_rng(seed).random(workers)
    return [float(spread**place) for place in drawn]


def decisions(spans: Sequence[Span]) -> list[tuple[int, Job]]:
    """Which worker got which job, in the order in which they were given out."""
    ordered = sorted(spans, key=lambda span: (span.begin, span.worker))
    return [(span.worker, span.job) for span in ordered]


class Span(NamedTuple):
    """A job on a worker, in seconds of the clock."""

    worker: int
    job: Job
    begin: float
    end: float
    loss: float


def on_clock(
    search: Search,
    speeds: Sequence[float],
    loss: Callable[[Job], float],
    resources: Sequence[int],
) -> list[Span]:
    """Run a search to its end. Returns: its jobs, in the order in which they ended.

    speeds: units of resource a second, of each worker. loss: of a job. resources: of the rungs; a
    trial goes on from the rung before, so a job takes the difference. Of workers that end at once
    the first goes first. Raises RuntimeError if all wait and nothing is done.
    """
    spans: list[Span] = []
    busy: list[tuple[float, int, Job, float]] = []
    free, now = list(range(len(speeds))), 0.0
    while not search.done():
        while free and (job := search.next()) is not None:
            worker = free.pop(0)
            before = resources[job.rung - 1] if job.rung else 0
            end = now + (job.resource - before) / speeds[worker]
            heapq.heappush(busy, (end, worker, job, now))
        if not busy:
            raise RuntimeError("All workers wait, and the search is not done.")
        now, worker, job, begin = heapq.heappop(busy)
        found = loss(job)
        search.report(job, found)
        spans.append(Span(worker, job, begin, now, found))
        free = sorted([*free, worker])
    return spans
