"""A search over ranks: rank 0 decides and hands out jobs, the others train.

What travels is a tensor each way: a job with the trial's state of the rung before, and a loss with
the state after it. A rank that dies ends the run, as ranks are one job; `search_processes` is for
workers that may die.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from helpers.engine.comm import Comm, Request
from helpers.lessons.search.algorithms.halving import top
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments import search_clock
from helpers.lessons.search.experiments.crew import Train
from helpers.lessons.search.experiments.search_processes import Report, Search

POLL_SECONDS = 0.0005


class Found(NamedTuple):
    """What rank 0 comes back with. reports: in the order in which the search was told."""

    losses: list[dict[int, float]]
    reports: list[Report]
    states: dict[int, Tensor]

    def top(self, count: int = 3) -> list[int]:
        """The best trials, the best first."""
        return top(self.losses, count)


def search_ranks(
    comm: Comm,
    search: Search,
    train: Train,
    speeds: Sequence[float] | None = None,
    pretend: bool = False,
) -> Found | None:
    """Run a search over all ranks; what rank 0 found, None on the others.

    train: `train(job, state)` gives (loss, state), the state a tensor (n,) of float32, as
    `search_models.Models` has it. speeds: steps a second of ranks 1, 2 …: losses are taken in the
    order in which they would end then, so that every decision is that of `search_clock.on_clock`;
    without, as they come. pretend: a rank takes so long for a job as its speed says, which is for
    the virtual clock, where training takes no time. Raises ValueError on one rank, which would have
    nobody to train, and for another number of speeds.
    Example: `helpers.run(search_ranks, Asha(27, 20, 180), Models().train, ranks=4)[0].top(3)`.
    """
    if comm.size < 2:
        raise ValueError("A search over ranks takes 2 or more: rank 0 hands out, others train.")
    if (len(speeds) if speeds else comm.size - 1) != comm.size - 1 or (pretend and not speeds):
        raise ValueError(f"{comm.size} ranks have {comm.size - 1} speeds: rank 0 does not train.")
    if comm.rank == 0:
        coordinator = Coordinator(comm, search)
        if speeds:
            coordinator.by_the_clock(speeds)
        else:
            coordinator.as_they_come()
        return coordinator.end()
    speed = speeds[comm.rank - 1] if speeds and pretend else None
    work(comm, train, speed, search.resources)
    return None


class Coordinator:
    """Rank 0. busy: what each of the other ranks does, since when, and its answer to come."""

    def __init__(self, comm: Comm, search: Search) -> None:
        self.comm, self.search = comm, search
        self.found = Found(search.losses, [], {})
        self.busy: dict[int, tuple[Job, float, Request]] = {}
        self.start = comm.time()

    def as_they_come(self) -> None:
        """Tell the search of each loss as soon as it is here."""
        free = list(range(1, self.comm.size))
        while not self.search.done():
            while free and (job := self.search.next()) is not None:
                self.begin(free.pop(0), job)
            if not self.busy:
                raise RuntimeError("All ranks wait, and the search is not done.")
            come = [rank for rank, (*_, request) in self.busy.items() if request.done()]
            for rank in come:
                self.search.report(self.busy[rank][0], self.take(rank))
            free = sorted([*free, *come])
            if not come:
                time.sleep(POLL_SECONDS)

    def by_the_clock(self, speeds: Sequence[float]) -> None:
        """Decide as `search_clock.on_clock` does: wait for who would end next."""

        def loss(job: Job) -> float:
            (rank,) = (rank for rank, (mine, *_) in self.busy.items() if mine == job)
            return self.take(rank)

        search_clock.on_clock(
            self.search, speeds, loss, self.search.resources,
            lambda worker, job: self.begin(worker + 1, job),
        )  # fmt: skip

    def begin(self, rank: int, job: Job) -> None:
        """Send a job and what its trial goes on from: float64, which float32 fits into."""
        head = torch.tensor(job, dtype=torch.float64)
        state = self.found.states.get(job.trial)
        self.comm.send(head if state is None else torch.cat([head, state.double()]), rank)
        self.busy[rank] = (job, self.comm.time() - self.start, self.comm.irecv(rank))

    def take(self, rank: int) -> float:
        """Wait for a rank's answer; its loss."""
        job, begin, request = self.busy.pop(rank)
        answer = request.wait()
        loss, self.found.states[job.trial] = float(answer[0]), answer[1:].float()
        self.found.reports.append(Report(rank, job, loss, begin, self.comm.time() - self.start))
        return loss

    def end(self) -> Found:
        """Let the others return; what was found."""
        for rank in range(1, self.comm.size):
            self.comm.send(torch.full((3,), -1.0, dtype=torch.float64), rank)
        return self.found


def work(comm: Comm, train: Train, speed: float | None, resources: Sequence[int]) -> None:
    """The other ranks: train what comes, until rank 0 says that all is done."""
    while True:
        message = comm.recv(0)
        if message[0] < 0:
            return
        job = Job(*(int(each) for each in message[:3]))
        loss, state = train(job, message[3:].float() if len(message) > 3 else None)
        if speed is not None:
            before = resources[job.rung - 1] if job.rung else 0
            comm.compute((job.resource - before) / speed)
        answer = torch.cat([torch.tensor([loss], dtype=torch.float64), state.double()])
        comm.send(answer, 0)
