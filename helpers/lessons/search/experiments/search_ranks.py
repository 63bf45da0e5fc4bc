"""A search over ranks: rank 0 decides and hands out jobs, the others train.

What travels is a tensor each way: a job with the trial's state of the rung before, and a loss with
the state after it. A rank that dies ends the run, as ranks are one job; `search_processes` is for
workers that may die.
"""

from __future__ import annotations

import time

import torch

from helpers.engine.comm import Comm, Request
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.crew import Train
from helpers.lessons.search.experiments.search_processes import Report, Run, Search

POLL_SECONDS = 0.0005


def search_ranks(comm: Comm, search: Search, train: Train) -> Run | None:
    """Run a search over all ranks; what rank 0 found, None on the others.

    train: `train(job, state)` gives (loss, state), the state a tensor (n,) of float32, as
    `search_models.Models` has it. Raises ValueError on one rank, which would have nobody to train.
    Example: `helpers.run(search_ranks, Asha(27, 20, 180), Models().train, ranks=4)[0].top(3)`.
    """
    if comm.size < 2:
        raise ValueError("A search over ranks takes 2 or more: rank 0 hands out, others train.")
    if comm.rank == 0:
        return Coordinator(comm, search).found_by_all()
    work(comm, train)
    return None


class Coordinator:
    """Rank 0. busy: what each of the other ranks does, since when, and its answer to come."""

    def __init__(self, comm: Comm, search: Search) -> None:
        self.comm, self.search = comm, search
        self.found = Run(search)
        self.busy: dict[int, tuple[Job, float, Request]] = {}
        self.start = comm.time()

    def found_by_all(self) -> Run:
        """Tell the search of each loss as soon as it is here, until it is done."""
        free = list(range(1, self.comm.size))
        while not self.search.done():
            while free and (job := self.search.next()) is not None:
                self.begin(free.pop(0), job)
            if not self.busy:
                raise RuntimeError("All ranks wait, and the search is not done.")
            come = [rank for rank, (*_, request) in self.busy.items() if request.done()]
            for rank in come:
                self.take(rank)
            free = sorted([*free, *come])
            if not come:
                time.sleep(POLL_SECONDS)
        for rank in range(1, self.comm.size):
            self.comm.send(torch.full((3,), -1.0, dtype=torch.float64), rank)
        return self.found

    def begin(self, rank: int, job: Job) -> None:
        """Send a job and what its trial goes on from: float64, which float32 fits into."""
        head = torch.tensor(job, dtype=torch.float64)
        state = self.found.states.get(job.trial)
        self.comm.send(head if state is None else torch.cat([head, state.double()]), rank)
        self.busy[rank] = (job, self.comm.time() - self.start, self.comm.irecv(rank))

    def take(self, rank: int) -> None:
        """A rank's answer is here."""
        job, begin, request = self.busy.pop(rank)
        answer = request.wait()
        loss, self.found.states[job.trial] = float(answer[0]), answer[1:].float()
        self.found.reports.append(Report(rank, job, loss, begin, self.comm.time() - self.start))
        self.search.report(job, loss)


def work(comm: Comm, train: Train) -> None:
    """The other ranks: train what comes, until rank 0 says that all is done."""
    while True:
        message = comm.recv(0)
        if message[0] < 0:
            return
        job = Job(*(int(each) for each in message[:3]))
        loss, state = train(job, message[3:].float() if len(message) > 3 else None)
        answer = torch.cat([torch.tensor([loss], dtype=torch.float64), state.double()])
        comm.send(answer, 0)
