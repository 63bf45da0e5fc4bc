"""Asynchronous successive halving: whoever is among the best so far goes on; nobody waits."""

from __future__ import annotations

from bisect import insort

from helpers.lessons.search.algorithms.halving import check_loss, place
from helpers.lessons.search.algorithms.rungs import Job, rungs


class Asha:
    """What a free worker does next, decided at once.

    The topmost trial that is in the best 1/η of what its rung knows, and was not promoted yet, goes
    on; if there is none, a new trial begins. What is decided depends on the order of the calls
    alone. trials: how many begin at most. least, most, factor: as in `rungs`.
    Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020), algorithm 2.
    """

    def __init__(self, trials: int, least: int, most: int, factor: int = 3) -> None:
        if trials < 1:
            raise ValueError(f"A search has at least one trial, not {trials}.")
        self.resources, self.factor, self.trials = rungs(least, most, factor), factor, trials
        self.losses: list[dict[int, float]] = [{} for _ in self.resources]
        self.ranked: list[list[tuple[bool, float, int]]] = [[] for _ in self.resources]
        self.promoted: list[set[int]] = [set() for _ in self.resources]
        self.begun = 0
        self.running: set[Job] = set()
        self.again: list[Job] = []

    def next(self) -> Job | None:
        """What a free worker is to do. None where nothing can be promoted now, and none begins."""
        job = self.again.pop(0) if self.again else self._promotion() or self._beginning()
        if job is not None:
            self.running.add(job)
        return job

    def report(self, job: Job, loss: float) -> None:
        """A job's loss is known; NaN where it was lost.

        Raises ValueError for a job that does not run, as one counts once, and for no number.
        """
        check_loss(job, loss)
        self._end(job)
        self.losses[job.rung][job.trial] = loss
        insort(self.ranked[job.rung], place(job.trial, loss))

    def give_up(self, job: Job) -> None:
        """Its worker is gone: somebody else does it from the start. Raises ValueError as above."""
        self._end(job)
        self.again.append(job)

    def done(self) -> bool:
        """Whether no job runs and none can be had any more."""
        idle = not self.running and not self.again
        return idle and self.begun == self.trials and self._promotable() is None

    def _end(self, job: Job) -> None:
        if job not in self.running:
            raise ValueError(f"{job} does not run: it was reported already, or never given out.")
        self.running.remove(job)

    def _promotable(self) -> Job | None:
        """From the highest rung down: paths that are nearly complete go on first."""
        for rung in reversed(range(len(self.resources) - 1)):
            ranked = self.ranked[rung]
            for *_, trial in ranked[: len(ranked) // self.factor]:
                if trial not in self.promoted[rung]:
                    return Job(trial, rung + 1, self.resources[rung + 1])
        return None

    def _promotion(self) -> Job | None:
        job = self._promotable()
        if job is not None:
            self.promoted[job.rung - 1].add(job.trial)
        return job

    def _beginning(self) -> Job | None:
        if self.begun == self.trials:
            return None
        self.begun += 1
        return Job(self.begun - 1, 0, self.resources[0])
