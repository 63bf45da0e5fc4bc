"""A training once more, with the arrivals in a given order: the same order, the same weights."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.engine.servers.client import MakeClient
from helpers.engine.servers.parameter_server import Array, Message, Reply, Server, Worker, join
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import ServerRecord, Training

Sent = tuple[str, Array, int, bool]  # kind, array, version, whether it wants weights


class Replay:
    """Workers and servers that follow the logs of an earlier training, one log for each server."""

    def __init__(
        self,
        servers: Sequence[Server],
        logs: Sequence[Sequence[Message]],
        make_client: MakeClient,
        task: Task,
        workers: int,
        batch: int,
    ) -> None:
        if len(logs) != len(servers):
            raise ValueError(
                f"An order has one log for each server: {len(servers)}, not {len(logs)}."
            )
        self.servers, self.task = list(servers), task
        self.logs = [[Message(*message) for message in log] for log in logs]
        count = len(self.servers)
        self.workers = [Worker(w, make_client(), task, batch, count) for w in range(workers)]
        self._answers: list[dict[int, Reply]] = [{} for _ in range(workers)]
        self._sent: list[dict[int, Sent]] = [{} for _ in range(count)]  # by worker

    def run(self) -> Training:
        """Follow the logs to their ends. Raises ValueError where a message cannot come."""
        for number, server in enumerate(self.servers):
            self._answer(number, server.begin())
        places = [0] * len(self.servers)
        finished: set[int] = set()
        while any(place < len(log) for place, log in zip(places, self.logs, strict=True)):
            moved = False
            for number, log in enumerate(self.logs):
                while places[number] < len(log) and self._take_up(number, log[places[number]]):
                    places[number] += 1
                    moved = True
                if places[number] == len(log) and number not in finished:
                    finished.add(number)
                    self._answer(number, self.servers[number].finish())
                    moved = True
                if number in finished:
                    moved |= self._refuse(number)
            if not moved:
                raise ValueError(self._impossible(places))
        weights = join([server.rule.weights for server in self.servers])
        records = [ServerRecord(s.log, s.updates, s.dropped, s.rule.version) for s in self.servers]
        return Training(weights, 0.0, [], records, self.task.error(weights))

    def _take_up(self, number: int, message: Message) -> bool:
        """Let a server take up a message, if its worker has sent it. Returns: whether it has."""
        server = self.servers[number]
        if message.kind == "leave":
            self._answer(number, server.leave(message.worker))
            return True
        kind, array, version, wants = self._sent[number].get(message.worker, ("", None, 0, False))
        if kind != message.kind:
            return False
        del self._sent[number][message.worker]
        if kind == "pull":
            self._answer(number, server.pull(message.worker))
        else:
            self._answer(number, server.push(message.worker, array, version, wants))
        return True

    def _refuse(self, number: int) -> bool:
        """A server at the end of its log answers what still comes. Returns: whether any came.

        So did it then, once it had made its last update, while other servers had not.
        """
        sent, self._sent[number] = self._sent[number], {}
        for worker, (_, _, _, wants) in sorted(sent.items()):
            self._answer(number, self.servers[number].refuse(worker, wants))
        return bool(sent)

    def _answer(self, number: int, replies: Sequence[Reply]) -> None:
        for reply in replies:
            answers = self._answers[reply.worker]
            answers[number] = reply
            if len(answers) == len(self.servers):
                self.workers[reply.worker].receive([answers[n] for n in range(len(self.servers))])
                answers.clear()
                self._send(self.workers[reply.worker])

    def _send(self, worker: Worker) -> None:
        """Let a worker go on up to its next message, and put that where the servers find it."""
        parts: list[Array] | None = None
        while not worker.client.wants_weights:
            parts = worker.compute()
            if parts is not None:
                break
        wants = worker.client.wants_weights
        for number, sent in enumerate(self._sent):
            if parts is None:
                sent[worker.number] = ("pull", None, 0, True)
            else:
                sent[worker.number] = ("push", parts[number], worker.versions[number], wants)

    def _impossible(self, places: Sequence[int]) -> str:
        number = next(n for n, log in enumerate(self.logs) if places[n] < len(log))
        message = self.logs[number][places[number]]
        waiting = sorted(self._sent[number])
        return (
            f"Message {places[number]} of server {number}'s log is a {message.kind} of worker "
            f"{message.worker}, which has sent none; those that have are {waiting}. The order "
            "belongs to another rule, client or number of workers."
        )
