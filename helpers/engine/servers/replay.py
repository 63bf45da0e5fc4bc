"""A training once more, with the arrivals in a given order: the same order, the same weights."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.engine.servers.client import MakeClient
from helpers.engine.servers.parameter_server import Array, Message, Reply, Server, Worker, join
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import ServerRecord, Training


class Replay:
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
        if len(logs) != len(servers):
            raise ValueError(
                f"An order has one log for each server: {len(servers)}, not {len(logs)}."
            )
        self.servers, self.task = servers, task
        self.logs = [[Message(*message) for message in log] for log in logs]
        count = len(servers)
        self.workers = [Worker(w, make_client(), task, batch, count) for w in range(workers)]
        self.answers: list[dict[int, Reply]] = [{} for _ in self.workers]  # by server
        # By server and worker, what has come: nothing for a pull, part, version and wish of a push.
        self.came: list[dict[int, tuple[()] | tuple[Array, int, bool]]] = [{} for _ in servers]

    def follow(self) -> Training:
        """Follow the logs to their ends. Raises ValueError where a message cannot come."""
        for number, server in enumerate(self.servers):
            self.let_go(number, server.begin())
        open_ = set(range(len(self.servers)))
        while open_:
            if not any([self.step(number) for number in range(len(self.servers))]):
                raise ValueError(self.stuck(min(open_)))
            for number in [n for n in open_ if self.at_the_end(n)]:
                open_.discard(number)
                self.let_go(number, self.servers[number].finish())
        weights = join([server.rule.weights for server in self.servers])
        records = [ServerRecord(s.log, s.updates, s.dropped, s.rule.version) for s in self.servers]
        return Training(weights, 0.0, [], records, self.task.error(weights))

    def at_the_end(self, number: int) -> bool:
        """Whether a server has taken up all of its log."""
        return len(self.servers[number].log) >= len(self.logs[number])

    def step(self, number: int) -> bool:
        """Let a server take up what it may. Returns: whether there was anything."""
        server, came = self.servers[number], self.came[number]
        if self.at_the_end(number):
            for worker in (waiting := sorted(came)):
                pushed = came.pop(worker)
                self.let_go(number, server.refuse(worker, not pushed or pushed[2]))
            return bool(waiting)
        kind, worker = self.logs[number][len(server.log)]
        if kind == "leave" and worker in server.rule.workers:
            self.let_go(number, server.leave(worker))
            return True
        if worker not in came or (kind == "push") != bool(came[worker]):
            return False
        pushed = came.pop(worker)
        self.let_go(number, server.push(worker, *pushed) if pushed else server.pull(worker))
        return True

    def let_go(self, number: int, replies: Sequence[Reply]) -> None:
        """A server answers; who has the answers of all goes on to what it asks next."""
        for reply in replies:
            answers = self.answers[reply.worker]
            answers[number] = reply
            if len(answers) == len(self.servers):
                self.workers[reply.worker].receive([answers[n] for n in sorted(answers)])
                answers.clear()
                self.go_on(reply.worker)

    def go_on(self, number: int) -> None:
        """A worker pulls, or computes until it has something to push."""
        worker, parts = self.workers[number], None
        while not worker.client.wants_weights and parts is None:
            parts = worker.compute()
        for server, came in enumerate(self.came):
            wants = worker.client.wants_weights
            came[number] = () if parts is None else (parts[server], worker.versions[server], wants)

    def stuck(self, number: int) -> str:
        """What a server waits for in vain."""
        place = len(self.servers[number].log)
        kind, worker = self.logs[number][place]
        return (
            f"Message {place} of server {number}'s log is a {kind} of worker {worker}, which has "
            f"sent none; those that have are {sorted(self.came[number])}. The order belongs to "
            "another rule, client or number of workers."
        )
