"""A parameter server and its workers, without time and without processes.

`Server` keeps a rule and answers pushes and pulls; `Worker` goes through pull, compute, push with
a client and batches of its own. Whoever runs them, a virtual clock or real processes, carries the
messages. Weights may be cut over several servers, each with a rule of its own for its part.
Source: Li et al., "Scaling Distributed Machine Learning with the Parameter Server" (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from helpers.engine.servers.client import Client
from helpers.engine.servers.rule import Decision, Push, Rule
from helpers.engine.servers.task import Task

Array = Any


class Reply(NamedTuple):
    """What a server tells a worker that may go on. weights: None where it asked for none.

    rows: of its next batch, None for the usual number.
    """

    worker: int
    weights: Array | None
    version: int
    rows: int | None = None


class Message(NamedTuple):
    """What a server took up, in order: a "push", a "pull" or a worker that has to "leave"."""

    kind: str
    worker: int


class Server:
    """One server: a rule for its part of the weights.

    log: every message in the order in which it was taken up. updates: the gradients of each
    update, the first one first. dropped: those that were never used.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.log: list[Message] = []
        self.updates: list[tuple[Push, ...]] = []
        self.dropped: list[Push] = []
        self._wants: dict[int, bool] = {}  # of a worker that waits, whether it wants weights

    def begin(self) -> list[Reply]:
        """The workers that begin, each with its first weights."""
        return [self._reply(worker) for worker in self.rule.start()]

    def push(
        self, worker: int, array: Array, version: int, wants_weights: bool = True
    ) -> list[Reply]:
        """Take up a gradient (or weights). Returns: an answer for each worker that may go on.

        A push of a worker that has left is ignored: nobody waits for the answer. Raises ValueError
        where there are more or fewer numbers than this server has weights.
        """
        if worker not in self.rule.workers:
            return []
        if array.shape != self.rule.weights.shape:
            raise ValueError(
                f"Worker {worker} pushed an array of shape {tuple(array.shape)}; this server's "
                f"weights have shape {tuple(self.rule.weights.shape)}."
            )
        self.log.append(Message("push", worker))
        self._wants[worker] = wants_weights
        return self._follow(self.rule.arrive(worker, array, version))

    def pull(self, worker: int) -> list[Reply]:
        """Give a worker the present weights."""
        if worker not in self.rule.workers:
            return []
        self.log.append(Message("pull", worker))
        return [self._reply(worker)]

    def refuse(self, worker: int, wants_weights: bool = True) -> list[Reply]:
        """Answer a push without taking it up, as a server does that has made its last update.

        The worker goes on, so that a server that has not finished still hears of it.
        """
        if worker not in self.rule.workers:
            return []
        self._wants[worker] = wants_weights
        return [self._reply(worker)]

    def finish(self) -> list[Reply]:
        """After the last update: answers for all that still wait.

        The rule holds them back for an update that will not come, and a server that has not
        finished may need them.
        """
        return [
            self._reply(worker) for worker in sorted(self._wants) if worker in self.rule.workers
        ]

    def lose(
        self, worker: int, array: Array, version: int, wants_weights: bool = True
    ) -> list[Reply]:
        """Leave out a push that was computed on weights that were lost with an earlier server."""
        replies = self.refuse(worker, wants_weights)
        if replies:
            self.log.append(Message("pull", worker))
            self.dropped.append(Push(worker, version, 0))
        return replies

    def resume(self, workers: Sequence[int]) -> list[Reply]:
        """After a restart: weights for those that wait and whose push was lost."""
        lost = [worker for worker in workers if worker not in self._wants]
        return [reply for worker in lost for reply in self.pull(worker)]

    def leave(self, worker: int) -> list[Reply]:
        """A worker is gone. Returns: answers for those that no longer wait for it."""
        if worker not in self.rule.workers:
            return []
        self.log.append(Message("leave", worker))
        return self._follow(self.rule.leave(worker))

    def _follow(self, decision: Decision) -> list[Reply]:
        if decision.applied:
            self.updates.append(decision.applied)
        self.dropped.extend(decision.dropped)
        return [self._reply(worker) for worker in decision.release]

    def _reply(self, worker: int) -> Reply:
        if not self._wants.pop(worker, True):
            return Reply(worker, None, self.rule.version, self.rule.rows)
        weights, version = self.rule.pull(worker)
        return Reply(worker, weights, version, self.rule.rows)


class Worker:
    """One worker: it computes at its client's weights, on batches of its own.

    batch: rows of a batch, unless a server says otherwise. servers: over how many the weights are
    cut. versions: by server, of the weights that what it pushes was computed on; where a client
    fetches more often than it pushes, of the oldest ones.
    """

    def __init__(self, number: int, client: Client, task: Task, batch: int, servers: int) -> None:
        self.number, self.client, self.task = number, client, task
        self.batch, self.step = batch, 0
        self.versions = [0] * servers
        self._pulled = list(self.versions)
        self._accruing = False

    def receive(self, replies: Sequence[Reply]) -> None:
        """Take the answers of all servers, in their order."""
        self.batch = replies[0].rows or self.batch
        if replies[0].weights is None:
            return
        self._pulled = [reply.version for reply in replies]
        if self._accruing:  # a server that was restarted may give older weights than before
            self.versions = list(map(min, self.versions, self._pulled))
        self.client.pulled(join([reply.weights for reply in replies]), min(self._pulled))

    def rows(self) -> Array:
        """The row numbers of the batch that it computes on now."""
        return self.task.rows(self.number, self.step, self.batch)

    def finish(self, gradient: Array) -> list[Array] | None:
        """The gradient is computed. Returns: what to push to each server, None for nothing."""
        self.step += 1
        if not self._accruing:
            self.versions = self._pulled
        push = self.client.computed(gradient)
        self._accruing = push is None
        return None if push is None else cut(push, len(self.versions))

    def compute(self) -> list[Array] | None:
        """Compute a gradient and finish the step with it."""
        return self.finish(self.task.gradient(self.client.weights, self.rows()))


def check_fit(rule: Rule, client: Client, workers: int) -> None:
    """Raises TypeError or ValueError where a rule and its workers cannot train together."""
    if rule.pushes != getattr(client, "pushes", "gradients"):
        raise TypeError(
            f"A {type(client).__name__} pushes {client.pushes}, and this {type(rule).__name__} "
            f"takes {rule.pushes}: Averaging goes with LocalSteps, other rules with other clients."
        )
    if rule.workers != set(range(workers)):
        raise ValueError(
            f"The rule is made for workers {sorted(rule.workers)}, and workers 0 to {workers - 1} "
            "train: give it the same number."
        )


def cut(array: Array, servers: int) -> list[Array]:
    """An array's parts for each server, as views; lengths differ by one at most."""
    ends = [len(array) * number // servers for number in range(servers + 1)]
    return [array[start:stop] for start, stop in pairwise(ends)]


def join(parts: Sequence[Array]) -> Array:
    """The whole array of its parts."""
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "numpy"):
        import torch

        return torch.cat(list(parts))
    import numpy as np

    return np.concatenate(parts)
