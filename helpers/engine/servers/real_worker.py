"""A worker's process: pull, compute, push, until it is ended."""

from __future__ import annotations

import os
import pickle
import random
import signal
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import torch

from helpers.engine.servers.job import Answer, Plan, Request, Table, check_like, dumps
from helpers.engine.servers.parameter_server import Array, Worker, cut
from helpers.engine.wire import receive_message, send_message

Tell = Callable[..., None]


class WorkerProcess:
    """Worker `number`; `run` does not return. addresses: where the servers listen."""

    def __init__(
        self, plan: Plan, table: Table, number: int, addresses: Sequence[Any], tell: Tell
    ) -> None:
        self.plan, self.table, self.number, self.tell = plan, table, number, tell
        self.addresses = addresses
        self.like = cut(plan.task.initial(), plan.servers)
        self.worker = Worker(number, plan.make_client(), plan.task, plan.batch, plan.servers)
        self.wires: dict[int, socket.socket] = {}
        self.incarnations = [0] * plan.servers  # of the servers whose weights it has
        self.base = self.incarnations  # and had, for the first gradient that it now pushes
        self.accruing = False
        self.asked = 0
        kill = plan.kill.get(f"worker {number}", ())
        self.last_step = next((k for k in kill if isinstance(k, int)), None)
        random.seed(number)  # a task that draws numbers does not draw the same everywhere
        np.random.seed(number)
        torch.manual_seed(number)

    def run(self) -> None:
        """Work for ever."""
        self.ask("begin")
        while True:
            if self.worker.client.wants_weights:
                self.ask("pull")
            elif (parts := self.compute()) is not None:
                self.ask("push", parts)

    def compute(self) -> list[Array] | None:
        """One step. Returns: what to push, if anything."""
        steps = int(self.table.steps[self.number])
        if steps == self.last_step:
            os.kill(os.getpid(), signal.SIGKILL)
        self.table.steps[self.number] = steps + 1
        start = time.monotonic()
        if slow := self.plan.slow.get(self.number, 0):
            time.sleep(slow)
        if not self.accruing:
            self.base = list(self.incarnations)
        parts = self.worker.compute()
        self.accruing = parts is None
        self.did("computing", start)
        return parts

    def ask(self, kind: Literal["begin", "pull", "push"], parts: Sequence[Array] = ()) -> None:
        """Ask all servers at once, wait until each has answered, and take the answers."""
        start, wants = time.monotonic(), kind != "push" or self.worker.client.wants_weights
        self.asked += 1
        requests = []
        for s, (version, base) in enumerate(zip(self.worker.versions, self.base, strict=True)):
            part = parts[s] if parts else None
            if part is not None:
                check_like(self.like[s], part, f"What worker {self.number} pushes to server {s}")
            request = Request(self.number, self.asked, kind, wants, version, base, part)
            requests.append(dumps(request))
            self.table.asked[s, self.number] = self.asked
            self.send(s, requests[s])
        answers = [self.answer(s, request) for s, request in enumerate(requests)]
        self.did("waiting", start)
        for s, answer in enumerate(answers):
            if answer.reply.weights is not None:
                self.incarnations[s] = answer.incarnation
        self.worker.receive([answer.reply for answer in answers])

    def send(self, server: int, request: bytes) -> None:
        """Send a server a request, or the one that takes its place where it dies."""
        while True:
            if server not in self.wires:
                self.wires[server] = socket.create_connection(self.addresses[server])
                self.wires[server].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                return send_message(self.wires[server], request)
            except OSError:
                self.wires.pop(server).close()

    def answer(self, server: int, request: bytes) -> Answer:
        """A server's answer to a request that it was sent, or its successor's."""
        while True:
            try:
                answer: Answer = pickle.loads(receive_message(self.wires[server])[0])
            except (EOFError, OSError):
                self.wires.pop(server).close()
                self.send(server, request)
                continue
            if answer.number == self.asked:  # not to what a predecessor had answered
                pair = server, self.number
                self.table.seen[*pair, answer.incarnation] = answer.reply.version
                self.table.answered[pair] = self.asked
                return answer

    def did(self, kind: str, start: float) -> None:
        """Tell what it did until now, where a trace is wanted."""
        if self.plan.trace:
            self.tell("did", kind, start, time.monotonic())
