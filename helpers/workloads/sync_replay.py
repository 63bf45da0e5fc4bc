"""Synchronous training with spare replicas, rebuilt: `SyncReplicas` on a clock of its own.

Softmax regression on the digits; each worker's computing takes a time that is given, and nothing
else takes any. `tf_sync.train_sync_replicas` trains the same with TensorFlow on real processes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from helpers.algorithms.server_optimizers import Sgd
from helpers.algorithms.sync_replicas import SyncReplicas
from helpers.workloads import softmax


class SyncRun(NamedTuple):
    """What came out. counted, dropped: each worker's gradients that were in time, and too late.

    loss: over all training rows, in nats, at the end. times: seconds from the start to each update.
    """

    counted: list[int]
    dropped: list[int]
    loss: float
    times: list[float]


class Setting(NamedTuple):
    """How to train. seconds: what a gradient takes each worker; aggregate: R; steps: updates."""

    seconds: tuple[float, ...]
    aggregate: int
    steps: int
    num_tokens: int
    rate: float
    batch: int
    seed: int


def replay_sync_replicas(
    seconds: Sequence[float] = (0.02, 0.02, 0.08),
    aggregate: int = 2,
    steps: int = 30,
    num_tokens: int = 0,
    rate: float = 0.5,
    batch: int = 32,
    seed: int = 0,
    machine: Callable[..., SyncReplicas] = SyncReplicas,
) -> SyncRun:
    """The same training with the rebuilt optimizer, on a clock on which only computing takes time.

    machine: makes the optimizer, where you have written your own or a part of it. The chief moves
    as soon as it can.
    """
    setting = check(Setting(tuple(seconds), aggregate, steps, num_tokens, rate, batch, seed))
    rows, total = softmax.training_rows(), len(setting.seconds)
    sync = machine(softmax.initial(rows), lambda: Sgd(rate), aggregate, total, num_tokens)
    counted, dropped, times = [0] * total, [0] * total, []
    order = [softmax.batches(len(rows[1]), batch, seed, worker) for worker in range(total)]
    # Who is done with computing when, and what it has computed.
    due: list[tuple[float, int, list[np.ndarray]]] = []

    def go_on(worker: int, now: float) -> None:
        gradients = softmax.gradients(sync.pull(), rows, next(order[worker]))
        heapq.heappush(due, (now + setting.seconds[worker], worker, gradients))

    for worker in range(total):
        go_on(worker, 0.0)
    waiting: list[int] = []
    while due:
        now, worker, gradients = heapq.heappop(due)
        if all(sync.push(worker, gradients)):
            counted[worker] += 1
        else:
            dropped[worker] += 1
        if sync.global_step < steps and sync.chief_turn():
            times.append(now)
        waiting.append(worker)
        while waiting and (token := sync.take_token(waiting[0])) is not None:
            released = waiting.pop(0)
            if token < steps:
                go_on(released, now)
    return SyncRun(counted, dropped, softmax.loss(sync.pull(), rows), times)


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
