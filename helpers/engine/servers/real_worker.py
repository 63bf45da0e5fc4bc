"""A worker's process: pull, compute, push, until it is ended."""

from __future__ import annotations

import os
import random
import signal
import time

import numpy as np
import torch

from helpers.engine.servers.freight import Freight
from helpers.engine.servers.job import COMPUTING, EVENT, WAITING, Job
from helpers.engine.servers.parameter_server import Array, Reply, Worker
from helpers.engine.servers.slots import PULL, PUSH, copy_of


class WorkerProcess:
    """Worker `number` of a job; `run` does not return."""

    def __init__(self, job: Job, number: int) -> None:
        plan, self.job, self.number, self.slots = job.plan, job, number, job.slots
        self.worker = Worker(number, job.clients[number], plan.task, plan.batch, plan.servers)
        self.incarnations = [0] * plan.servers  # of the servers whose weights it has
        self.base = list(self.incarnations)  # and had, for the first gradient that it now pushes
        self.accruing = False
        self.asked = 1
        self.events = job.events[number] if plan.trace else None
        self.freight = Freight(job.slots, plan.places, job.host(f"worker {number}"))
        kill = plan.kill.get(f"worker {number}", ())
        self.last_step = next((int(k) for k in kill if isinstance(k, int)), None)
        random.seed(number)  # a task that draws numbers does not draw the same everywhere
        np.random.seed(number)
        torch.manual_seed(number)

    def run(self) -> None:
        """Work for ever."""
        self.wait()
        while True:
            if self.worker.client.wants_weights:
                self.ask(PULL)
            elif (parts := self.compute()) is not None:
                self.ask(PUSH, parts)
            else:
                continue
            self.wait()

    def compute(self) -> list[Array] | None:
        """One step. Returns: what to push, if anything."""
        steps = int(self.slots.steps[self.number])
        if steps == self.last_step:
            os.kill(os.getpid(), signal.SIGKILL)
        self.slots.steps[self.number] = steps + 1
        start = time.monotonic()
        if slow := self.job.plan.slow.get(self.number, 0):
            time.sleep(slow)
        if not self.accruing:
            self.base = list(self.incarnations)
        parts = self.worker.compute()
        self.accruing = parts is None
        self.note(COMPUTING, start)
        return parts

    def note(self, kind: int, start: float) -> None:
        """Note what it did until now, where a trace is wanted."""
        if self.events is not None:
            os.write(self.events, EVENT.pack(kind, start, time.monotonic()))

    def ask(self, kind: int, parts: list[Array] | None = None) -> None:
        """Put a request into the slot of each server and wake it."""
        slots, w = self.slots, self.number
        wants = kind == PULL or self.worker.client.wants_weights
        self.asked += 1
        if parts is not None:
            self.freight.push(w, parts)
        for s, pipe in enumerate(self.job.to_server):
            slots.kind[s, w], slots.wants[s, w] = kind, wants
            slots.base[s, w] = self.worker.versions[s], self.base[s]
            slots.asked[s, w] = self.asked  # from here on it counts
            pipe.send(w)

    def wait(self) -> None:
        """Wait for every server's answer and take it."""
        slots, w, start = self.slots, self.number, time.monotonic()
        while (slots.answered[:, w] < self.asked).any():
            self.job.to_worker[w].rest()
        self.note(WAITING, start)
        replies = []
        for s in range(self.job.plan.servers):
            version, incarnation, rows, has = (int(n) for n in slots.answer[s, w, self.asked % 2])
            weights = copy_of(slots.given[s][w]) if has else None
            if has:
                self.incarnations[s] = incarnation
            replies.append(Reply(w, weights, version, None if rows < 0 else rows))
        self.worker.receive(replies)
