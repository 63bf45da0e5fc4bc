"""Parameter servers on a virtual clock: real gradients of a real model, virtual seconds.

A worker computes for as long as its step-time model says; its push goes through each server's
link, the rule decides, the answer comes back through the other direction. What the links are says
`helpers.engine.servers.links`. Gradients are computed when the first of them is needed, those of
all workers that are computing at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import torch

from helpers.engine.servers.client import MakeClient
from helpers.engine.servers.clock import Clock
from helpers.engine.servers.links import Bandwidths, Links, make_links
from helpers.engine.servers.parameter_server import Array, Reply, Server, Worker, join
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import Point, ServerRecord, Training, bytes_of
from helpers.engine.trace import Event, Kind, Trace

AT_ONCE = 64  # gradients in one call: more gain nothing and take memory


class StepTimes(Protocol):
    """How long workers compute. With a method `on_clock(worker, seed)` as well, which gives a
    function of the moment at which a step begins, that one is asked."""

    def stream(self, worker: int, seed: int) -> Iterator[float]:
        """A worker's times, in seconds, step after step; they depend on nothing else."""


class VirtualTraining:
    """One training on the clock; `run` does it. The arguments are those of `helpers.train`."""

    def __init__(
        self,
        servers: Sequence[Server],
        make_client: MakeClient,
        task: Task,
        workers: int,
        batch: int,
        times: StepTimes,
        seed: int,
        latency: float = 0.0,
        bandwidth: Bandwidths = math.inf,
        payload: float | None = None,
        trace: bool = False,
        hosts: bool = False,
    ) -> None:
        self.clock, self.task = Clock(), task
        self.servers = list(servers)
        count = len(self.servers)
        self.workers = [Worker(w, make_client(), task, batch, count) for w in range(workers)]
        self.links: Links = make_links(self.clock, count, workers, latency, bandwidth, hosts)
        self.curve: list[Point] = []
        self.died: dict[int, str] = {}
        self._times = [_on_clock(times, w, seed) for w in range(workers)]
        self._answers: list[dict[int, Reply]] = [{} for _ in range(workers)]
        self._computing: dict[int, Array | None] = {}  # worker: its gradient, once it is known
        self._since = [0.0] * workers  # when each worker began to wait
        self._events: list[Event] | None = [] if trace else None
        whole = sum(bytes_of(server.rule.weights) for server in self.servers)
        self._scale = 1.0 if payload is None else payload / whole

    def run(
        self,
        updates: int | None,
        seconds: float,
        target: float | None,
        evaluate_every: int,
        failures: Mapping[int, float],
    ) -> Training:
        """Train until one of the ends is reached. Raises RuntimeError where nothing moves on."""
        self._evaluate_every, self._target, self._updates = evaluate_every, target, updates
        for worker, moment in failures.items():
            self.clock.at(moment, self._die, worker)
        if evaluate_every:
            self._evaluate()
        for number, server in enumerate(self.servers):
            self._send(number, server.begin())
        while not self._over():
            if seconds < self.clock.next < math.inf:
                return self._result(seconds)
            if not self.clock.step():
                raise RuntimeError(self._stuck())
        return self._result(self.clock.now)

    def weights(self) -> Array:
        """The present weights, whole."""
        return join([server.rule.weights for server in self.servers])

    def _over(self) -> bool:
        made = min(server.rule.version for server in self.servers)
        if self._updates is not None and made >= self._updates:
            return True
        return bool(self._target is not None and self.curve[-1].error <= self._target)

    def _send(self, number: int, replies: Sequence[Reply]) -> None:
        """Send a server's answers off, one after the other through its link."""
        for reply in replies:
            size = bytes_of(reply.weights) * self._scale
            self.links.to_worker(number, reply.worker, size, self._answered, number, reply)

    def _answered(self, number: int, reply: Reply) -> None:
        """An answer has come; with those of all servers the worker goes on."""
        if reply.worker in self.died:
            return
        answers = self._answers[reply.worker]
        answers[number] = reply
        if len(answers) == len(self.servers):
            worker = self.workers[reply.worker]
            worker.receive([answers[n] for n in range(len(self.servers))])
            answers.clear()
            self._draw(reply.worker, "waiting", self._since[reply.worker])
            self._go_on(reply.worker)

    def _go_on(self, number: int) -> None:
        """A worker may act: it pulls where its client wants weights, otherwise it computes."""
        if self.workers[number].client.wants_weights:
            self._since[number] = self.clock.now
            for server in range(len(self.servers)):
                self.links.to_server(number, server, 0, self._pull, server, number)
            return
        self._computing[number] = None
        duration = float(self._times[number](self.clock.now))
        self.clock.at(self.clock.now + duration, self._computed, number, self.clock.now)

    def _pull(self, number: int, worker: int) -> None:
        server = self.servers[number]
        self._send(number, server.refuse(worker) if self._done(server) else server.pull(worker))

    def _computed(self, number: int, since: float) -> None:
        """A worker's gradient is there: its client says what becomes of it."""
        if number in self.died:
            return
        self._draw(number, "computing", since)
        worker = self.workers[number]
        parts = worker.finish(self._gradient(number))
        if parts is None:
            return self._go_on(number)
        self._since[number] = self.clock.now
        wants = worker.client.wants_weights
        for server, part in enumerate(parts):
            size, version = bytes_of(part) * self._scale, worker.versions[server]
            arrived = (self._arrived, server, number, part, version, wants)
            self.links.to_server(number, server, size, *arrived)
        return None

    def _arrived(self, number: int, worker: int, part: Array, version: int, wants: bool) -> None:
        """A push has come through a server's link."""
        server = self.servers[number]
        if self._done(server):
            self._send(number, server.refuse(worker, wants))
        else:
            self._after(number, server.push(worker, part, version, wants))

    def _die(self, worker: int) -> None:
        """A worker's machine is gone, with whatever it was computing."""
        self.died[worker] = f"worker {worker} died at {self.clock.now:g} s"
        self._computing.pop(worker, None)
        for number, server in enumerate(self.servers):
            if not self._done(server):
                self._after(number, server.leave(worker))

    def _done(self, server: Server) -> bool:
        """Whether a server has made its last update; it takes nothing up any more."""
        return self._updates is not None and server.rule.version >= self._updates

    def _after(self, number: int, replies: Sequence[Reply]) -> None:
        """Look at the model if it is time, and send the answers."""
        if self._evaluate_every:
            made = min(server.rule.version for server in self.servers)
            if made >= self.curve[-1].updates + self._evaluate_every:
                self._evaluate()
        server = self.servers[number]
        if self._done(server) and not self._over():
            replies = [*replies, *server.finish()]
        self._send(number, replies)

    def _evaluate(self) -> None:
        made = min(server.rule.version for server in self.servers)
        self.curve.append(Point(self.clock.now, made, self.task.error(self.weights())))

    def _gradient(self, number: int) -> Array:
        """A worker's gradient; those that others are computing now come in the same call."""
        if self._computing[number] is None:
            size = self.workers[number].batch
            open_ = [w for w, gradient in self._computing.items() if gradient is None]
            same = [w for w in open_ if self.workers[w].batch == size and w != number]
            chosen = [number, *same[: AT_ONCE - 1]]
            weights = torch.stack([self.workers[w].client.weights for w in chosen])
            rows = torch.stack([self.workers[w].rows() for w in chosen])
            self._computing.update(zip(chosen, self.task.gradients(weights, rows), strict=True))
        return self._computing.pop(number)

    def _draw(self, worker: int, kind: Kind, start: float) -> None:
        if self._events is not None:
            self._events.append(Event(worker, kind, start, self.clock.now))

    def _stuck(self) -> str:
        if len(self.died) == len(self.workers):
            return f"All {len(self.workers)} workers have died; nobody is left to train."
        waiting = [w for w in range(len(self.workers)) if w not in self.died]
        return (
            f"Nobody is computing: workers {waiting} wait for a server to let them go on, and it "
            "waits for a gradient. A rule has to release somebody in the end."
        )

    def _result(self, seconds: float) -> Training:
        records = [
            ServerRecord(s.log, s.updates, s.dropped, s.rule.version, *self.links.carried(number))
            for number, s in enumerate(self.servers)
        ]
        weights = self.weights()
        trace = None
        if self._events is not None:
            trace = Trace(self._events, len(self.workers), virtual=True)
        error = self.task.error(weights)
        return Training(weights, seconds, self.curve, records, error, self.died, trace)


def _on_clock(times: StepTimes, worker: int, seed: int) -> Callable[[float], float]:
    """What a worker's next step takes, by the moment at which it begins."""
    if (asked := getattr(times, "on_clock", None)) is not None:
        follows: Callable[[float], float] = asked(worker, seed)
        return follows
    drawn = times.stream(worker, seed)
    return lambda now: next(drawn)
