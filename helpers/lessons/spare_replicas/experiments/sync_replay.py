"""Synchronous training with spare replicas, rebuilt: `SyncReplicas` on a clock of its own.

Softmax regression on the digits; each worker's computing takes a time that is given, and nothing
else takes any. `tf_sync.train_sync_replicas` trains the same with TensorFlow on real processes.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from helpers.engine.trace import Event, Trace
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.spare_replicas.algorithms.sync_replicas import SyncReplicas
from helpers.lessons.spare_replicas.experiments import softmax


class SyncRun(NamedTuple):
    """What came out. counted, dropped: each worker's gradients that were in time, and too late.

    loss: over all training rows, in nats, at the end. times: seconds from the start to each update.
    trace: when each worker computed and waited for a token, and log: every push in its order, its
    worker, its local step and whether it counted; both of a replay only.
    """

    counted: list[int]
    dropped: list[int]
    loss: float
    times: list[float]
    trace: Trace | None = None
    log: Sequence[tuple[int, int, bool]] = ()


class Setting(NamedTuple):
    """How to train. seconds: what a gradient takes each worker; aggregate: R; steps: updates."""

    seconds: tuple[float, ...]
    aggregate: int
    steps: int
    num_tokens: int


RATE, BATCH, SEED = 0.5, 32, 0


def replay_sync_replicas(
    seconds: Sequence[float] = (0.02, 0.02, 0.08),
    aggregate: int = 2,
    steps: int = 30,
    num_tokens: int = 0,
    machine: Callable[..., Any] = SyncReplicas,
) -> SyncRun:
    """The same training with the rebuilt optimizer, on a clock on which only computing takes time.

    machine: makes the optimizer, where you have written your own or a part of it, such as
    `OneAccumulator`. The chief moves as soon as it can.
    """
    setting = check(Setting(tuple(seconds), aggregate, steps, num_tokens))
    sync = machine(
        softmax.initial(softmax.training_rows()),
        lambda: Sgd(RATE),
        aggregate,
        len(setting.seconds),
        num_tokens,
    )
    return Replay(setting, sync).run()


class Replay:
    """One training on a clock: who is done with computing when, and who waits for a token."""

    def __init__(self, setting: Setting, sync: SyncReplicas | OneAccumulator) -> None:
        self.setting, self.sync = setting, sync
        self.rows, self.workers = softmax.training_rows(), len(setting.seconds)
        self.batches = [
            softmax.batches(len(self.rows[1]), BATCH, SEED, worker)
            for worker in range(self.workers)
        ]
        self.due: list[tuple[float, int, list[np.ndarray]]] = []
        self.waiting: list[tuple[int, float]] = []
        self.log: list[tuple[int, int, bool]] = []
        self.times: list[float] = []
        self.events: list[Event] = []

    def run(self) -> SyncRun:
        """Train until every worker holds a token of the last step, or waits for ever."""
        for worker in range(self.workers):
            self.compute(worker, 0.0)
        while self.due:
            now, worker, gradients = heapq.heappop(self.due)
            self.arrive(worker, gradients, now)
            self.release(now)
        fates = [[counts for who, _, counts in self.log if who == w] for w in range(self.workers)]
        counted, dropped = ([each.count(kind) for each in fates] for kind in (True, False))
        loss = softmax.loss(self.sync.pull(), self.rows)
        trace = Trace(self.events, self.workers, virtual=True)
        return SyncRun(counted, dropped, loss, self.times, trace, self.log)

    def compute(self, worker: int, now: float) -> None:
        """A worker pulls, and will have its gradient after its seconds."""
        done = now + self.setting.seconds[worker]
        chosen = next(self.batches[worker])
        gradients = softmax.gradients(self.sync.pull(), self.rows, chosen)
        heapq.heappush(self.due, (done, worker, gradients))
        self.events.append(Event(worker, "computing", now, done))

    def arrive(self, worker: int, gradients: list[np.ndarray], now: float) -> None:
        """A worker pushes; the chief, which waits for that, updates if it can."""
        local = self.sync.local_steps[worker]
        self.log.append((worker, local, all(self.sync.push(worker, gradients))))
        if self.sync.global_step < self.setting.steps and self.sync.chief_turn():
            self.times.append(now)
        self.waiting.append((worker, now))

    def release(self, now: float) -> None:
        """Those who wait take tokens, first come, first served, and go on with the next step."""
        while self.waiting:
            worker, since = self.waiting[0]
            token = self.sync.take_token(worker)
            if token is None:
                return
            self.waiting.pop(0)
            if now > since:
                self.events.append(Event(worker, "waiting", since, now))
            if token < self.setting.steps:
                self.compute(worker, now)


def check(setting: Setting) -> Setting:
    """Raise ValueError for a setting that cannot be, or would never end."""
    workers = len(setting.seconds)
    if not 1 <= setting.aggregate <= workers:
        raise ValueError(
            f"{setting.aggregate} gradients of {workers} workers cannot make an update here; "
            f"aggregate goes from 1 to {workers}."
        )
    if setting.steps < 1 or any(each < 0 for each in setting.seconds):
        raise ValueError("Training takes 1 step or more, and no time is below 0 seconds.")
    return setting


class OneAccumulator:
    """What a replay needs of `SyncReplicas`: push, take a token, the chief's turn.

    accumulator: called without arguments, gives `apply_grad` and `take_grad`. chief: called with
    accumulator, queue, weights, rate, aggregate and total, gives `start`, `turn`, `weights` and
    `global_step`. Where TensorFlow has an accumulator for each variable, all weights are one flat
    variable here, so that one accumulator and one chief are enough:

        machine = functools.partial(OneAccumulator, accumulator=MyAccumulator, chief=MyChief)
        replay_sync_replicas(machine=machine)
    """

    def __init__(
        self,
        weights: Sequence[np.ndarray],
        optimizer: Callable[[], Any],
        aggregate: int,
        total: int,
        num_tokens: int,
        accumulator: Callable[[], Any],
        chief: Callable[..., Any],
    ) -> None:
        self.shapes = [array.shape for array in weights]
        self.queue: deque[int] = deque()
        self.accumulator = accumulator()
        rate = optimizer().rate
        self.chief = chief(self.accumulator, self.queue, _flat(weights), rate, aggregate, total)
        self.chief.start(num_tokens)
        self.local_steps = [0] * total

    @property
    def global_step(self) -> int:
        """How many updates are made."""
        return int(self.chief.global_step)

    def pull(self) -> tuple[np.ndarray, ...]:
        """The weights as they are now, one array for each variable."""
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        parts = np.split(self.chief.weights.numpy(), np.cumsum(sizes)[:-1])
        return tuple(part.reshape(s) for part, s in zip(parts, self.shapes, strict=True))

    def push(self, worker: int, gradients: Sequence[np.ndarray]) -> tuple[bool, ...]:
        """Give the accumulator a gradient, marked with its worker's local step."""
        return (bool(self.accumulator.apply_grad(_flat(gradients), self.local_steps[worker])),)

    def take_token(self, worker: int) -> int | None:
        """Take the oldest token as local step; None where there is none."""
        if not self.queue:
            return None
        self.local_steps[worker] = self.queue.popleft()
        return self.local_steps[worker]

    def chief_turn(self) -> bool:
        """The chief makes an update if it can."""
        return bool(self.chief.turn())


def _flat(arrays: Sequence[np.ndarray]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([array.ravel() for array in arrays]))
