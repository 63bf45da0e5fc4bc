"""A worker's rank: pull, compute, push, until every server has made its last update."""

from __future__ import annotations

import mmap
import os
import random
import signal
import time
from collections.abc import Sequence

import numpy as np
import torch

from helpers.engine.comm import Comm
from helpers.engine.servers.apart import Apart, Died
from helpers.engine.servers.job import Answer, Ask, Plan, hear, say
from helpers.engine.servers.parameter_server import Array, Reply, Worker
from helpers.engine.trace import Event, Kind


class Working:
    """Worker `number`: called with the servers' answers, it gives what it asks next.

    steps: how many it has begun, in memory that outlives its process.
    """

    def __init__(self, plan: Plan, number: int) -> None:
        self.worker = Worker(number, plan.make_client(), plan.task, plan.batch, plan.servers)
        self.slow, self.last_step = plan.slow.get(number, 0.0), plan.kill.get(f"worker {number}")
        self.steps: np.ndarray = np.frombuffer(mmap.mmap(-1, 8), np.int64)
        random.seed(number)  # a task that draws numbers does not draw the same everywhere
        np.random.seed(number)
        torch.manual_seed(number)

    def __call__(self, replies: Sequence[Reply]) -> list[Ask]:
        """What it asks each server, once it has computed what it had to."""
        worker = self.worker
        worker.receive(replies)
        while not worker.client.wants_weights:
            if (parts := self.compute()) is not None:
                wants = worker.client.wants_weights
                pushed = zip(worker.versions, parts, strict=True)
                return [Ask("push", wants, version, part) for version, part in pushed]
        return [Ask("pull")] * len(worker.versions)

    def compute(self) -> list[Array] | None:
        """One step. Returns: what to push, if anything."""
        if self.steps[0] == self.last_step:
            os.kill(os.getpid(), signal.SIGKILL)
        self.steps[0] += 1
        if self.slow:
            time.sleep(self.slow)
        return self.worker.compute()


def work(comm: Comm, plan: Plan, number: int) -> list[Event]:
    """Be worker `number`. Returns: what it did, by time.monotonic()."""
    working = Working(plan, number)
    step = Apart(working) if working.last_step is not None else working
    events: list[Event] = []
    comm.barrier()
    since = time.monotonic()

    def did(kind: Kind) -> None:
        nonlocal since
        events.append(Event(number, kind, since, time.monotonic()))
        since = events[-1].end

    servers = range(plan.servers)
    left = Ask("leave")
    while True:
        answers: list[Answer] = hear(comm, servers)
        did("waiting")
        if all(answer.over for answer in answers):
            break
        try:
            asks = step([answer.reply for answer in answers])
        except Died as death:
            left = Ask("leave", died=f"worker {number} {death.how} in its step {working.steps[0]}")
            break
        did("computing")
        for server, ask in enumerate(asks):
            say(comm, ask, server)
    for server in servers:
        say(comm, left, server)
    return events
