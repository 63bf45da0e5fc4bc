"""A search on real processes: this one decides, workers train, and any of them may die.

A search decides by the order in which losses come, and processes have no order of their own. Three
things help: synchronous halving does not mind; with `speeds`, losses are taken in the order of the
virtual clock, whoever was first; and a run keeps a log, from which `replayed` decides again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from helpers.lessons.search.algorithms.halving import top
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments import search_clock
from helpers.lessons.search.experiments.crew import (
    Crew,
    Killer,
    Nursery,
    SearchFailed,
    Train,
    Worker,
)

MOST_DEATHS, MOST_HANGS = 60, 2
LOOK = 0.2


class Search(search_clock.Search, Protocol):
    """What `SuccessiveHalving` and `Asha` are."""

    losses: list[dict[int, float]]
    resources: list[int]

    def give_up(self, job: Job) -> None:
        """A job's worker is gone."""


class SearchTimeout(SearchFailed):
    """A search that was not done in time."""


class Report(NamedTuple):
    """A job that was done. begin, end: seconds from the start, as this process saw them."""

    worker: int
    job: Job
    loss: float
    begin: float
    end: float


class Gone(NamedTuple):
    """A worker that ended before its time. job: what it had, given up; None where it was idle."""

    worker: int
    job: Job | None
    why: str
    at: float


class Call(NamedTuple):
    """A call of the search. what: "next", "report" or "give up". loss: of a report."""

    what: str
    job: Job
    loss: float | None = None


@dataclass
class Run:
    """A search that is over.

    reports: in the order in which the search was told of them. states: of each trial, where it got
    to. log: every call of the search. kills: those that were asked for and took place.
    """

    search: Search
    reports: list[Report] = field(default_factory=list)
    gone: list[Gone] = field(default_factory=list)
    states: dict[int, Any] = field(default_factory=dict)
    log: list[Call] = field(default_factory=list)
    seconds: float = 0.0
    kills: int = 0

    @property
    def losses(self) -> list[dict[int, float]]:
        """Of each rung, by trial."""
        return self.search.losses

    def top(self, count: int = 3) -> list[int]:
        """The best trials, the best first."""
        return top(self.search.losses, count)


def on_processes(
    search: Search,
    train: Train,
    workers: int = 2,
    timeout: float = 60.0,
    job_timeout: float | None = None,
    speeds: Sequence[float] | None = None,
    kills: Sequence[float] = (),
    seed: int = 0,
    nursery: Nursery | None = None,
) -> Run:
    """Run a search to its end, on so many worker processes.

    train: `train(job, state)` gives (loss, state); it gets the trial's state of the rung before, or
    None on the first, and may be a function of a cell. What it prints is lost. timeout: seconds for
    all of it; job_timeout: for one job, after which its worker is ended. A worker that dies, or is
    ended, is replaced, and its job given up, for somebody to do again. speeds: take losses in the
    order in which workers of these speeds would end on the virtual clock, so that every decision is
    that of `search_clock.on_clock`; deaths are then no concern of the search's. kills: seconds from
    the start at which one of the workers, chosen by the seed, is killed. nursery: shared with other
    searches, which saves each of them the seconds in which torch is loaded.

    Raises SearchFailed where training raises, where a job has killed or hung its workers again and
    again, or where all wait and nothing is done; SearchTimeout; and KeyboardInterrupt. In every
    case no process is left.
    Example: `on_processes(Asha(27, 20, 180), Models().train, workers=4).top(3)`.
    """
    if not timeout > 0 or (job_timeout is not None and not job_timeout > 0):
        raise ValueError("timeout and job_timeout are seconds above 0.")
    with Crew(train, workers, nursery) as crew, Killer(crew, kills, seed) as killer:
        coordinator = Coordinator(search, crew, timeout, job_timeout, killer.killed)
        if speeds is None:
            coordinator.as_they_come()
        else:
            coordinator.by_the_clock(speeds)
    coordinator.run.kills = len(killer.killed)
    return coordinator.run


class Coordinator:
    """Gives jobs to workers, and what they found to the search.

    busy: what each worker does, by its number, and since when. waiting: jobs for the next free one.
    found: losses that have come and were not asked for yet. killed: workers that were killed on
    purpose, for which no job is to blame.
    """

    def __init__(
        self,
        search: Search,
        crew: Crew,
        timeout: float,
        job_timeout: float | None,
        killed: Sequence[int] = (),
    ) -> None:
        self.search, self.crew, self.run = search, crew, Run(search)
        self.timeout, self.job_timeout = timeout, job_timeout
        self.start, self.killed = time.monotonic(), killed
        self.busy: dict[int, tuple[Job, float]] = {}
        self.waiting: list[Job] = []
        self.found: dict[Job, Report] = {}
        self.deaths: dict[Job, int] = {}
        self.hangs: dict[Job, int] = {}

    def as_they_come(self) -> None:
        """Tell the search of each loss as soon as it is here, and of each death."""
        while not self.search.done():
            while len(self.busy) < len(self.crew.workers) and (job := self.search.next()):
                self.begin(job)
            if not self.busy:
                raise SearchFailed("All workers wait, and the search is not done.")
            for job in self.look():
                self.search.give_up(job)
                self.run.log.append(Call("give up", job))
            for job in list(self.found):
                self.tell(job)
                self.search.report(job, self.run.reports[-1].loss)
        self.run.seconds = self.now()

    def by_the_clock(self, speeds: Sequence[float]) -> None:
        """Decide as `search_clock.on_clock` does; train meanwhile, and again what has died."""

        def loss(job: Job) -> float:
            while job not in self.found:
                self.waiting[:0] = self.look()
                self.hand_out()
            return self.tell(job)

        search_clock.on_clock(
            self.search, speeds, loss, self.search.resources, lambda _, job: self.begin(job)
        )
        self.run.seconds = self.now()

    def begin(self, job: Job) -> None:
        """The search has given a job out: it goes to a worker as soon as one is free."""
        self.run.log.append(Call("next", job))
        self.waiting.append(job)
        self.hand_out()

    def tell(self, job: Job) -> float:
        """Note a loss as the search's next; the loss."""
        report = self.found.pop(job)
        self.run.reports.append(report)
        self.run.log.append(Call("report", job, report.loss))
        return report.loss

    def hand_out(self) -> None:
        """Give waiting jobs to free workers."""
        for worker in list(self.crew.workers.values()):
            if self.waiting and worker.number not in self.busy:
                job = self.waiting.pop(0)
                self.busy[worker.number] = (job, self.now())
                self.crew.give(worker, job, self.run.states.get(job.trial))

    def look(self) -> list[Job]:
        """Wait a moment for what comes. Returns: the jobs of workers that are gone."""
        if (left := self.timeout - self.now()) <= 0:
            raise SearchTimeout(self.overdue())
        lost = []
        for worker, what, value in self.crew.wait(min(left, LOOK)):
            if what == "gone":
                lost += self.lose(worker, value, self.deaths, MOST_DEATHS)
            elif what == "failed":
                raise SearchFailed(self.failure(worker, *value))
            else:
                self.take(worker, *value)
        return lost + self.hung()

    def take(self, worker: Worker, loss: float, state: Any) -> None:
        """A worker has done its job."""
        job, begin = self.busy.pop(worker.number)
        self.found[job] = Report(worker.number, job, loss, begin, self.now())
        self.run.states[job.trial] = state

    def lose(self, worker: Worker, why: str, counts: dict[Job, int], most: int) -> list[Job]:
        """A worker is gone: another takes its place. Returns: what it was doing."""
        job, _ = self.busy.pop(worker.number, (None, 0.0))
        self.run.gone.append(Gone(worker.number, job, why, self.now()))
        self.crew.hire()
        if job is None:
            return []
        counts[job] = counts.get(job, 0) + (worker.number not in self.killed)
        if counts[job] >= most:
            raise SearchFailed(
                f"Worker {worker.number} was {why} in {words(job)}, and so were those before it, "
                f"{most} in all: it is the training that ends them, not chance."
            )
        return [job]

    def hung(self) -> list[Job]:
        """End the workers that have been at their job for too long. Returns: their jobs."""
        lost: list[Job] = []
        if self.job_timeout is None:
            return lost
        for number, (_, begin) in list(self.busy.items()):
            if self.now() - begin > self.job_timeout:
                worker = self.crew.workers[number]
                self.crew.end(worker)
                why = f"ended, without an answer for {self.job_timeout:g} s,"
                lost += self.lose(worker, why, self.hangs, MOST_HANGS)
        return lost

    def now(self) -> float:
        """Seconds from the start."""
        return time.monotonic() - self.start

    def failure(self, worker: Worker, line: str, trace: str) -> str:
        """What to say where training raised an exception."""
        job, _ = self.busy.get(worker.number, (None, 0.0))
        doing = f"in {words(job)}" if job else "before its first job"
        return f"Worker {worker.number} failed {doing}: {line}\n\n{trace}"

    def overdue(self) -> str:
        """What to say where the time is up."""
        doing = "; ".join(
            f"worker {number} has been at {words(job)} for {self.now() - begin:.1f} s"
            for number, (job, begin) in sorted(self.busy.items())
        )
        return (
            f"The search was not done within {self.timeout:g} s: {doing or 'no worker was busy'}. "
            f"{len(self.run.reports)} jobs were done."
        )


def words(job: Job) -> str:
    """A job as a sentence names it."""
    return f"trial {job.trial} on rung {job.rung} ({job.resource} steps)"


def replayed(search: Search, log: Sequence[Call]) -> Search:
    """Take a search through a run's log: the same losses in the same order, and no training.

    search: as the run's was at first. Returns: it, decided anew. Raises ValueError at the first
    call where it decides otherwise.
    """
    for place, (what, job, loss) in enumerate(log):
        if what == "next":
            decided = search.next()
            if decided != job:
                raise ValueError(f"At call {place} of the log the search decides for {decided}, "
                                 f"and the run did for {job}.")  # fmt: skip
        elif loss is None:
            search.give_up(job)
        else:
            search.report(job, loss)
    return search
