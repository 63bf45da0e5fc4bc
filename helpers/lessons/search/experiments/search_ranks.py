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
from helpers.lessons.search.experiments.search_clock import Search
from helpers.lessons.search.experiments.search_processes import Run

POLL_SECONDS = 0.0005


def search_ranks(comm: Comm, search: Search, train: Train) -> Run | None:
    """Run a search over all ranks; what rank 0 found, None on the others.

    train: `train(job, state)` gives (loss, state), the state a tensor (n,) of float32, as
    `search_models.Models` has it. Raises ValueError on one rank, which would have nobody to train.
    Example: `helpers.run(search_ranks, Asha(27, 20, 180), Models().train, ranks=4)[0].losses`.
    """
    if comm.size < 2:
        raise ValueError("A search over ranks takes 2 or more: rank 0 hands out, others train.")
    if comm.rank > 0:
        work(comm, train)
        return None
    found, free = Run(search), list(range(1, comm.size))
    busy: dict[int, tuple[Job, Request]] = {}  # with the answer to come
    while not search.done():
        while free and (job := found.next()) is not None:
            rank = free.pop(0)
            head = torch.tensor(job, dtype=torch.float64)  # which float32 fits into
            state = found.states.get(job.trial)
            comm.send(head if state is None else torch.cat([head, state.double()]), rank)
            busy[rank] = (job, comm.irecv(rank))
        if not busy:
            raise RuntimeError("All ranks wait, and the search is not done.")
        come = [rank for rank, (_, request) in busy.items() if request.done()]
        for rank in come:
            job, request = busy.pop(rank)
            answer = request.wait()
            found.report(rank, job, float(answer[0]), answer[1:].float())
        free = sorted([*free, *come])
        if not come:
            time.sleep(POLL_SECONDS)
    for rank in range(1, comm.size):
        comm.send(torch.full((3,), -1.0, dtype=torch.float64), rank)
    return found


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
