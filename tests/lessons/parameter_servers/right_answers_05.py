"""Right answers to lesson 05 that differ from the references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from helpers.engine.servers.rule import Decision, Rule


class AveragingInPlace(Rule):
    """Adds up as weights come and remembers only who came."""

    pushes = "weights"

    def __init__(self, weights: Any, workers: int) -> None:
        super().__init__(weights, None, workers)
        self.came: list[int] = []
        self.total: Any = 0.0

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        """Divide when all are there."""
        self.total = self.total + gradient
        self.came.append(worker)
        if set(self.came) != self.workers:
            return Decision(release=())
        self.weights, self.total = self.total / len(self.came), 0.0
        self.version = version + 1
        came, self.came = self.came, []
        return Decision(release=came)  # type: ignore[arg-type]


def serve_in_one_loop(comm: Any, weights: Any, gradient: Any, steps: int, rate: float) -> Any:
    """Counts pushes; the weights change in place, in a copy."""
    if comm.rank > 0:
        for _ in range(steps):
            pulled = comm.recv(0)
            pushed = gradient(pulled)
            comm.send(pushed, 0)
        return None
    held, workers = weights.clone(), comm.size - 1
    for worker in range(workers):
        comm.send(held.clone(), worker + 1)
    for push in range(steps * workers):
        worker = push % workers + 1
        held -= rate * comm.recv(worker)
        if push // workers < steps - 1:
            comm.send(held.clone(), worker)
    return held


def rate_by_cases(
    workers: int, servers: int, nbytes: float, compute: float, bandwidth: float
) -> Any:
    """Asks whether the link is full first; a tensor of one number."""
    limit = servers * bandwidth / nbytes
    wanted = workers / (compute + 2 / limit)
    return torch.tensor(limit if wanted > limit else wanted, dtype=torch.float64)


def place_with_numpy(sizes: list[int], servers: int) -> Any:
    """A stable sort and argmin; an array of numpy's whole numbers."""
    held, places = np.zeros(servers), np.zeros(len(sizes), np.int64)
    for tensor in np.argsort([-size for size in sizes], kind="stable"):
        server = np.argmin(held)
        places[tensor] = server
        held[server] += sizes[tensor]
    return places


class DownpourWithCountdowns:
    """Counts down to the next fetch and the next push."""

    def __init__(self, rate: float, n_fetch: int, n_push: int) -> None:
        self.rate, self.n_fetch, self.n_push = rate, n_fetch, n_push
        self.fetch_in, self.push_in = n_fetch, n_push
        self.weights: Any = None
        self.accrued: Any = None
        self.wants_weights = True

    def pulled(self, weights: Any, version: int) -> None:
        """Take weights."""
        self.weights, self.wants_weights = weights, False

    def computed(self, gradient: Any) -> Any:
        """Count down."""
        if self.accrued is None:
            self.accrued = torch.zeros_like(gradient)
        self.accrued += gradient
        self.weights = torch.sub(self.weights, gradient, alpha=self.rate)
        self.fetch_in -= 1
        self.push_in -= 1
        self.wants_weights = not self.fetch_in
        self.fetch_in = self.fetch_in or self.n_fetch
        if self.push_in:
            return None
        pushed, self.accrued, self.push_in = self.accrued, gradient * 0, self.n_push
        return pushed


class AdagradInPlace:
    """Sums in place, from a tensor that is full at the start."""

    def __init__(self, rate: float, start: float) -> None:
        self.rate, self.start = rate, start
        self.sums: Any = None

    def step(self, weights: Any, gradient: Any, version: int) -> Any:
        """Torch's own addcmul and addcdiv."""
        if self.sums is None:
            self.sums = torch.full_like(weights, self.start)
        self.sums.addcmul_(gradient, gradient)
        return torch.addcdiv(weights, gradient, self.sums.sqrt(), value=-self.rate)


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("05.1", AveragingInPlace),
    ("05.2", serve_in_one_loop),
    ("05.3", rate_by_cases),
    ("05.4", place_with_numpy),
    ("05.5", DownpourWithCountdowns),
    ("05.6", AdagradInPlace),
]
