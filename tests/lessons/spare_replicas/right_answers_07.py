"""Right answers to lesson 07 that differ from the references."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from helpers.engine.servers.rule import Decision, Rule


def kth_smallest(times: Any, k: int) -> Any:
    """torch's own order statistic, and a tensor instead of a number."""
    return times.kthvalue(k, dim=1).values.mean()


def choose_by_tuples(times: Any, iterations: dict[int, int]) -> Any:
    """The smallest of pairs, as a list."""
    ranked = np.sort(times.numpy(), axis=1).mean(axis=0)
    hours, n = min((iterations[n] * ranked[n - 1] / 60 / 60, n) for n in iterations)
    return [torch.tensor(times.shape[1] - n), hours]


class SpareReplicasInASum(Rule):
    """Keeps a running sum, and the pushes in a dictionary."""

    def __init__(self, weights: Any, optimizer: Any, workers: Any, aggregate: int) -> None:
        super().__init__(weights, optimizer, workers)
        self.aggregate = aggregate
        self.total: Any = 0.0
        self.pushes_held: dict[int, Any] = {}

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Adds up; releases in the order in which they came."""
        push = self.push(worker, version)
        if push.staleness:
            return Decision(release=(worker,), dropped=(push,))
        self.total = self.total + gradient / self.aggregate
        self.pushes_held[worker] = push
        if len(self.pushes_held) == self.aggregate:
            self.apply(self.total)
            came, self.pushes_held, self.total = self.pushes_held, {}, 0.0
            return Decision(release=tuple(came), applied=tuple(reversed(came.values())))
        return Decision()


class AccumulatorOfAList:
    """Keeps the gradients and stacks them."""

    def __init__(self) -> None:
        self.global_step = 0
        self.held: list[Any] = []

    def apply_grad(self, gradient: Any, local_step: int) -> bool:
        """Keep it, unless it is stale."""
        fresh = local_step >= self.global_step
        self.held += [gradient] * fresh
        return fresh

    def take_grad(self, required: int) -> Any:
        """The mean of the stack."""
        if len(self.held) < required:
            return None
        held, self.held = self.held, []
        self.global_step += 1
        return torch.stack(held).mean(dim=0)


class ChiefOneByOne:
    """Puts tokens in one after the other, and changes weights of its own in place."""

    def __init__(
        self, accumulator: Any, queue: Any, weights: Any, rate: float, aggregate: int, total: int
    ) -> None:
        self.accumulator, self.queue = accumulator, queue
        self.weights, self.rate = weights.clone(), rate
        self.aggregate, self.total = aggregate, total
        self.global_step = 0

    def start(self, num_tokens: int) -> None:
        """One token after the other."""
        if num_tokens < 0:
            num_tokens = self.aggregate
        for _ in range(num_tokens):
            self.queue.append(0)

    def turn(self) -> bool:
        """The same."""
        mean = self.accumulator.take_grad(required=self.aggregate)
        if mean is not None:
            self.weights -= self.rate * mean
            self.global_step = self.global_step + 1
            for _ in range(self.aggregate if self.aggregate > self.total else self.total):
                self.queue.append(self.global_step)
        return mean is not None


def what_if_by_lists(begun: Any, ready: Any, fixed: list[int]) -> Any:
    """Numbers alone, with `statistics`, a worker at a time."""
    b, r, workers = begun.tolist(), ready.tolist(), range(ready.shape[1])
    now, begins, done = b[0], [b[0]], []
    for step, row in enumerate(r):
        took = [row[w] - b[step][w] for w in workers]
        usual = statistics.median_low(took)
        took = [usual if w in set(fixed) else took[w] for w in workers]
        done.append([now[w] + took[w] for w in workers])
        now = [max(done[-1]) + b[step + 1][w] - max(row) for w in workers]
        begins.append(now)
    return begins, done


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("07.1", kth_smallest),
    ("07.2", choose_by_tuples),
    ("07.3", SpareReplicasInASum),
    ("07.4", AccumulatorOfAList),
    ("07.5", ChiefOneByOne),
    ("07.6", what_if_by_lists),
]
