"""A training once more, with the arrivals in a given order: the same order, the same weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any

from helpers.engine.servers.client import MakeClient
from helpers.engine.servers.parameter_server import Array, Message, Server
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import Training
from helpers.engine.servers.virtual import VirtualTraining


class NoTime:
    """Steps that take none: the order alone says who comes when."""

    def stream(self, worker: int, seed: int) -> Iterator[float]:
        """0, without end."""
        return repeat(0.0)


class Replay(VirtualTraining):
    """Workers and servers that follow the logs of an earlier training, one log for each server.

    A server at the end of its log answers what still comes, without taking it up. So did it then,
    once it had made its last update, while other servers had not.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        logs: Sequence[Sequence[Message]],
        make_client: MakeClient,
        task: Task,
        workers: int,
        batch: int,
    ) -> None:
        super().__init__(servers, make_client, task, workers, batch, NoTime(), 0)
        if len(logs) != len(self.servers):
            raise ValueError(
                f"An order has one log for each server: {len(self.servers)}, not {len(logs)}."
            )
        self._logs = [[Message(*message) for message in log] for log in logs]
        self._sent: list[dict[int, tuple[Message, Callable[[], None]]]] = [{} for _ in logs]
        self._evaluate_every = 0

    def follow(self) -> Training:
        """Follow the logs to their ends. Raises ValueError where a message cannot come."""
        for number, server in enumerate(self.servers):
            self._send(number, server.begin())
            self._take_up(number)
        while not self._over():
            if not self.clock.step():
                raise ValueError(self._stuck())
        return self._result(0.0)

    def _over(self) -> bool:
        return all(map(self._done, self.servers))

    def _done(self, server: Server) -> bool:
        return len(server.log) >= len(self._logs[self.servers.index(server)])

    def _pull(self, number: int, worker: int) -> None:
        self._came(number, Message("pull", worker), partial(super()._pull, number, worker))

    def _arrived(self, number: int, worker: int, *push: Any) -> None:
        act = partial(super()._arrived, number, worker, *push)
        self._came(number, Message("push", worker), act)

    def _came(self, number: int, message: Message, act: Callable[[], None]) -> None:
        self._sent[number][message.worker] = message, act
        self._take_up(number)

    def _take_up(self, number: int) -> None:
        """Let a server take up what has come, as far as its log allows; at its end, all of it."""
        server, sent = self.servers[number], self._sent[number]
        while not self._done(server):
            message = self._logs[number][len(server.log)]
            if message.kind == "leave" and message.worker in server.rule.workers:
                self._after(number, server.leave(message.worker))
                continue
            came, act = sent.get(message.worker, (None, None))
            if came != message or act is None:
                return
            del sent[message.worker]
            act()
        while sent:
            sent.pop(min(sent))[1]()

    def _gradient(self, number: int) -> Array:
        """By itself, as a real worker computes it."""
        worker = self.workers[number]
        del self._computing[number]
        return self.task.gradient(worker.client.weights, worker.rows())

    def _stuck(self) -> str:
        number = next(n for n, server in enumerate(self.servers) if not self._done(server))
        place = len(self.servers[number].log)
        message = self._logs[number][place]
        return (
            f"Message {place} of server {number}'s log is a {message.kind} of worker "
            f"{message.worker}, which has sent none; those that have are "
            f"{sorted(self._sent[number])}. The order belongs to another rule, client or number of "
            "workers."
        )
