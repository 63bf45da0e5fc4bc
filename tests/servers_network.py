"""Servers, workers and the messages between them, which arrive in any order that a test picks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from arrivals_driver import frozen

from helpers.engine.servers.client import Client
from helpers.engine.servers.parameter_server import Reply, Server, Worker, cut, join
from helpers.engine.servers.rule import Rule


class Network:
    """Servers, workers, and messages between them that arrive in any order that a test picks.

    Messages between two keep their order. A worker that dies sends nothing more; each server hears
    of it at a time of its own, before the worker's last messages or after them.
    """

    def __init__(
        self,
        make_rule: Callable[[Any], Rule],
        make_client: Callable[[], Client],
        task: Any,
        workers: int,
        servers: int,
        batch: int = 4,
    ) -> None:
        self.servers = [Server(make_rule(part)) for part in cut(task.initial(), servers)]
        self.workers = [Worker(w, make_client(), task, batch, servers) for w in range(workers)]
        self.dead: set[int] = set()
        self.computing: set[int] = set()
        self.lines: dict[tuple[str, int, int], list[Callable[[], None]]] = {}
        self._answers: list[dict[int, Reply]] = [{} for _ in range(workers)]
        for number, server in enumerate(self.servers):
            self._send(number, server.begin())

    def step(self, pick: int) -> bool:
        """Let a worker compute or a message arrive. Returns: whether there was one of them."""
        actions = [*sorted(self.computing), *sorted(self.lines)]
        if not actions:
            return False
        action = actions[pick % len(actions)]
        if isinstance(action, int):
            self._compute(action)
            return True
        line = self.lines[action]
        line.pop(0)()
        if not line:
            self.lines.pop(action)
        return True

    def die(self, worker: int) -> None:
        """A worker dies now; the servers hear of it."""
        if worker in self.dead:
            return
        self.dead.add(worker)
        self.computing.discard(worker)
        for number in range(len(self.servers)):
            self._put("gone", worker, number, partial(self._up, number, "leave", worker))

    def settle(self) -> None:
        """Let all messages arrive."""
        while self.lines:
            self.step(len(self.computing))

    def compute(self, worker: int) -> None:
        """Let a worker compute, and what it sends arrive everywhere, with what follows."""
        self._compute(worker)
        self.settle()

    @property
    def weights(self) -> Any:
        """The whole weights."""
        return join([server.rule.weights for server in self.servers])

    def _put(self, way: str, worker: int, number: int, act: Callable[[], None]) -> None:
        self.lines.setdefault((way, worker, number), []).append(act)

    def _send(self, number: int, replies: Sequence[Reply]) -> None:
        for reply in replies:
            self._put("down", reply.worker, number, partial(self._answered, number, reply))

    def _answered(self, number: int, reply: Reply) -> None:
        answers = self._answers[reply.worker]
        assert number not in answers, f"worker {reply.worker} is answered twice"
        answers[number] = reply
        if len(answers) == len(self.servers) and reply.worker not in self.dead:
            self.workers[reply.worker].receive([answers[n] for n in range(len(self.servers))])
            answers.clear()
            self._go_on(reply.worker)

    def _go_on(self, worker: int) -> None:
        if not self.workers[worker].client.wants_weights:
            self.computing.add(worker)
            return
        for number in range(len(self.servers)):
            self._put("up", worker, number, partial(self._up, number, "pull", worker))

    def _compute(self, number: int) -> None:
        worker = self.workers[number]
        self.computing.discard(number)
        parts = worker.compute()
        if parts is None:
            return self._go_on(number)
        wants = worker.client.wants_weights
        for place, part in enumerate(parts):
            push = (number, part, worker.versions[place], wants)
            self._put("up", number, place, partial(self._up, place, "push", *push))

    def _up(self, number: int, kind: str, *message: Any) -> None:
        self._send(number, getattr(self.servers[number], kind)(*message))


class Slopes:
    """A task for numpy: a quadratic of a few weights, with noise of each worker's batch."""

    def __init__(self, size: int = 7) -> None:
        self.size = size

    def initial(self) -> Any:
        """Where training starts."""
        return np.linspace(-1.0, 1.0, self.size)

    def rows(self, worker: int, step: int, batch: int) -> Any:
        """A batch stands for its seed."""
        return np.array([worker, step, batch])

    def gradient(self, weights: Any, rows: Any) -> Any:
        """The slope towards 0, with noise."""
        return frozen(weights + np.random.default_rng(rows).standard_normal(self.size))
