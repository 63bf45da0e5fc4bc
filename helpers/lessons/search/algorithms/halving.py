"""Successive halving: give many trials little, a part of them more, a few of them all.

A rung is what trials are trained up to; only the best 1/η of a rung reach the next. A loss that is
no number is worse than any other, and of equal ones the earlier trial is the better.
Source: Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter
Optimization" (2016), figure 3; with rungs as in Li et al., "A System for Massively Parallel
Hyperparameter Tuning" (2020), algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from helpers.lessons.search.algorithms.rungs import Job, rungs


def place(trial: int, loss: float) -> tuple[bool, float, int]:
    """What trials are sorted by, the best first."""
    return (True, 0.0, trial) if math.isnan(loss) else (False, loss, trial)


def check_loss(job: Job, loss: float | None) -> None:
    """Raises ValueError where a job's loss is none, before anything is noted of it."""
    if loss is None:
        raise ValueError(f"{job} has no loss: report NaN, or give_up where its worker is gone.")


def best(losses: Mapping[int, float], count: int) -> list[int]:
    """The trials with the smallest losses, the best first."""
    return sorted(losses, key=lambda trial: place(trial, losses[trial]))[:count]


class SuccessiveHalving:
    """The synchronous form: a rung begins when the one before it is complete.

    trials: how many begin; with fewer than η^k of them nobody gets to rung k. least, most, factor:
    as in `rungs`.
    """

    def __init__(self, trials: int, least: int, most: int, factor: int = 3) -> None:
        if trials < 1:
            raise ValueError(f"A search has at least one trial, not {trials}.")
        self.resources, self.factor = rungs(least, most, factor), factor
        self.losses: list[dict[int, float]] = [{} for _ in self.resources]
        self.rung, self.waiting = 0, [Job(trial, 0, self.resources[0]) for trial in range(trials)]
        self.running: set[Job] = set()

    def next(self) -> Job | None:
        """What a free worker is to do. None while it has to wait, and when all is done."""
        if not self.waiting:
            return None
        job = self.waiting.pop(0)
        self.running.add(job)
        return job

    def report(self, job: Job, loss: float) -> None:
        """A job's loss is known; NaN where it was lost.

        Raises ValueError for a job that does not run, as one counts once, and for no number.
        """
        check_loss(job, loss)
        self._end(job)
        self.losses[job.rung][job.trial] = loss
        if self.waiting or self.running or self.rung + 1 == len(self.resources):
            return
        count = len(self.losses[self.rung]) // self.factor
        self.rung += 1
        resource = self.resources[self.rung]
        self.waiting = [
            Job(t, self.rung, resource) for t in best(self.losses[self.rung - 1], count)
        ]

    def give_up(self, job: Job) -> None:
        """Its worker is gone: somebody else does it from the start. Raises ValueError as above."""
        self._end(job)
        self.waiting.append(job)

    def done(self) -> bool:
        """Whether no job is left, and none runs."""
        return not self.waiting and not self.running

    def _end(self, job: Job) -> None:
        if job not in self.running:
            raise ValueError(f"{job} does not run: it was reported already, or never given out.")
        self.running.remove(job)
