"""A search on real processes: this one decides, workers train, and any of them may die.

A search decides by the order in which losses come, and processes have no order of their own. Two
things help: synchronous halving does not mind; and a run keeps a log, from which `replayed` decides
again.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any, NamedTuple, Self

from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.crew import Train, Worker, packed
from helpers.lessons.search.experiments.search_clock import Search

MOST_LOST = 3
LOOK = 0.2


class SearchFailed(RuntimeError):
    """A search that cannot go on; the text names the worker and the trial."""


class Report(NamedTuple):
    """A job that was done."""

    worker: int
    job: Job
    loss: float


class Gone(NamedTuple):
    """A worker that ended before its time. job: what it had, given up; None where it was idle."""

    worker: int
    job: Job | None
    why: str


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

    def next(self) -> Job | None:
        """What a free worker does now."""
        if (job := self.search.next()) is not None:
            self.log.append(Call("next", job))
        return job

    def report(self, worker: int, job: Job, loss: float, state: Any) -> None:
        """A worker has done its job."""
        self.states[job.trial] = state
        self.reports.append(Report(worker, job, loss))
        self.log.append(Call("report", job, loss))
        self.search.report(job, loss)

    def give_up(self, job: Job) -> None:
        """A job's worker is gone."""
        self.log.append(Call("give up", job))
        self.search.give_up(job)


def on_processes(
    search: Search,
    train: Train,
    workers: int = 2,
    timeout: float = 60.0,
    kills: Sequence[float] = (),
    seed: int = 0,
) -> Run:
    """Run a search to its end, on so many worker processes.

    train: `train(job, state)` gives (loss, state); it gets the trial's state of the rung before, or
    None on the first, and may be a function of a cell. timeout: seconds for all of it. A worker
    that dies is replaced, and its job given up, for somebody to do again. kills: seconds from the
    start at which one of the workers, chosen by the seed, is killed.

    Raises SearchFailed where training raises, where a job has killed its workers again and again,
    where all wait and nothing is done, or where the time is up; and KeyboardInterrupt. In every
    case no worker is left.
    Example: `on_processes(Asha(27, 20, 180), Models().train, workers=4).losses`.
    """
    if workers < 1:
        raise ValueError(f"A search needs 1 worker or more, not {workers}.")
    with Crew(search, train, workers, sorted(kills), random.Random(seed)) as crew:
        while not search.done():
            crew.hand_out()
            crew.look(timeout)
            crew.kill()
        crew.run.seconds = crew.now()
    return crew.run


class Crew:
    """Gives jobs to workers, and what they found to the search. A context: none is left at its end.

    doomed: the moments of kills to come. busy: what each worker does, by its number. killed:
    workers that were killed on purpose, for which no job is to blame. lost: how many workers each
    job has cost.
    """

    def __init__(
        self, search: Search, train: Train, size: int, doomed: list[float], chance: random.Random
    ) -> None:
        self.run, self.size, self.hired = Run(search), size, 0
        self.doomed, self.chance = doomed, chance
        self.workers: dict[int, Worker] = {}
        self.busy: dict[int, Job] = {}
        self.killed, self.lost = set[int](), Counter[Job]()
        try:
            self.train = packed(train)
        except Exception as error:
            raise TypeError(
                f"{getattr(train, '__name__', train)!s} cannot be sent to workers: {error}. Open "
                "files, locks and generators stay here: make them inside the function."
            ) from error

    def hire(self) -> None:
        """See to it that all workers are there."""
        while len(self.workers) < self.size:
            self.workers[self.hired] = Worker(self.hired, self.train)
            self.hired += 1

    def now(self) -> float:
        """Seconds from the start."""
        return time.monotonic() - self.start

    def hand_out(self) -> None:
        """Ask the search for a job for each free worker."""
        self.hire()
        for number in sorted(self.workers.keys() - self.busy.keys()):
            if (job := self.run.next()) is None:
                break
            self.busy[number] = job
            self.workers[number].give(job, self.run.states.get(job.trial))
        if not self.busy:
            raise SearchFailed("All workers wait, and the search is not done.")

    def look(self, timeout: float) -> None:
        """Wait a moment for what comes, and see who is gone."""
        now = self.now()
        if now >= timeout:
            doing = (f"worker {n} is at {words(job)}" for n, job in sorted(self.busy.items()))
            raise SearchFailed(
                f"The search was not done within {timeout:g} s: {'; '.join(doing)}. "
                f"{len(self.run.reports)} jobs were done."
            )
        ends = [now + LOOK, timeout, *self.doomed[:1]]
        lines = {worker.line: worker for worker in self.workers.values()}
        for line in wait(list(lines), max(0.0, min(ends) - now)):
            worker = lines[line]  # type: ignore[index]
            try:
                answer = worker.take()
            except OSError:
                self.lose(worker, worker.end())
                continue
            job = self.busy.pop(worker.number)
            if isinstance(answer, str):
                raise SearchFailed(f"Worker {worker.number} failed in {words(job)}: {answer}")
            self.run.report(worker.number, job, *answer)

    def lose(self, worker: Worker, why: str) -> None:
        """A worker is gone: another will take its place, and its job is given up."""
        del self.workers[worker.number]
        job = self.busy.pop(worker.number, None)
        self.run.gone.append(Gone(worker.number, job, why))
        if job is None:
            return
        self.lost[job] += worker.number not in self.killed
        if self.lost[job] == MOST_LOST:
            raise SearchFailed(
                f"Worker {worker.number} {why} in {words(job)}, and so were those before it, "
                f"{MOST_LOST} in all: it is the training that ends them, not chance."
            )
        self.run.give_up(job)

    def kill(self) -> None:
        """Kill a worker that lives, whatever it does, for each moment that has come."""
        while self.doomed and self.doomed[0] <= self.now():
            self.doomed.pop(0)
            if there := sorted(self.workers.keys() - self.killed):
                number = self.chance.choice(there)
                self.killed.add(number)
                self.workers[number].process.kill()
                self.run.kills += 1

    def __enter__(self) -> Self:
        self.hire()
        self.start = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers.values():
            worker.end()


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
