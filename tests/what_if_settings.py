"""Settings whose run without stragglers is known: the clock runs it as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import helpers
from helpers.engine.servers.training import Training
from helpers.engine.trace import Trace
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import SpareReplicas
from helpers.lessons.spare_replicas.experiments.traced_steps import NoGradients


@dataclass(frozen=True)
class FromTable:
    """Step times of a table, a row a gradient and a column a worker; over again at its end."""

    table: np.ndarray

    def stream(self, worker: int, seed: int) -> Iterator[float]:
        """One worker's seconds."""
        while True:
            yield from self.table[:, worker].tolist()


@dataclass(frozen=True)
class Setting:
    """A run, and what makes some of its operations late.

    usual, late: (steps, workers), seconds; late is what the straggling run takes. floats: of the
    message of each step, over a ring of ranks; none for a server. spare: b.
    """

    name: str
    usual: np.ndarray
    late: np.ndarray
    latency: float = 0.0
    bandwidth: float = float("inf")
    floats: tuple[int, ...] = ()
    spare: int = 0

    @property
    def workers(self) -> int:
        return self.usual.shape[1]

    def ring(self, straggling: bool) -> Trace:
        """The trace of ranks that compute and then add up over a ring."""
        table = self.late if straggling else self.usual

        def steps(comm: Any) -> None:
            for seconds, floats in zip(table[:, comm.rank], self.floats, strict=True):
                comm.compute(float(seconds))
                all_reduce_ring(comm, torch.zeros(floats))

        links = {"latency": self.latency, "bandwidth": self.bandwidth}
        return helpers.run(steps, ranks=self.workers, engine="virtual", **links).trace

    def server(self, straggling: bool) -> Training:
        """A training of a server that takes the first N of N + b."""
        needed = self.workers - self.spare
        return helpers.train(
            lambda weights: SpareReplicas(weights, Sgd(0.1), self.workers, needed),
            workers=self.workers,
            updates=len(self.usual),
            times=FromTable(self.late if straggling else self.usual),
            task=NoGradients(),
            batch=1,
            latency=self.latency,
            bandwidth=self.bandwidth,
            trace=True,
        )


def constant(steps: int, workers: int, seconds: float = 1.0) -> np.ndarray:
    """Steps that all take as long."""
    return np.full((steps, workers), seconds)


def jitter(steps: int, workers: int, spread: float, seconds: float = 1.0) -> np.ndarray:
    """Steps that differ a little, by a standard deviation of `spread`."""
    random = np.random.default_rng(steps)
    return seconds * random.normal(1, spread, (steps, workers))


def slower(table: np.ndarray, **factors: float) -> np.ndarray:
    """A copy in which worker 3 is slowed by w3=2.0."""
    table = table.copy()
    for worker, factor in factors.items():
        table[:, int(worker[1:])] *= factor
    return table


def thirteen() -> list[Setting]:
    """Servers and rings, 1 to 20 workers, and what comes late in them."""
    return [*with_a_server(), *over_a_ring(), *with_spares()]


def with_a_server() -> list[Setting]:
    """Synchronous training with one server."""
    random = np.random.default_rng(7)
    alone, two, five = constant(9, 1), constant(20, 2), jitter(60, 5, 0.02)
    uneven = random.uniform(0.5, 2.0, (24, 1)) * constant(24, 3)
    stops = uneven.copy()
    stops[::4, 1] += 3.0
    many, narrow = constant(40, 20), constant(20, 4)
    anybody = many * np.where(random.random(many.shape) < 0.05, 4.0, 1.0)
    return [
        Setting("1 worker", alone, alone, latency=0.02),
        Setting("2 workers, one slow", two, slower(two, w1=4), latency=0.02),
        Setting("3 workers, uneven steps, one stops", uneven, stops, latency=0.05),
        Setting("5 workers with jitter, one slow", five, slower(five, w0=2.5), latency=0.01),
        Setting("4 workers, a narrow link", narrow, slower(narrow, w3=3), bandwidth=40.0),
        Setting("20 workers, anybody now and then", many, anybody, latency=0.01),
    ]


def over_a_ring() -> list[Setting]:
    """Ranks that compute and add up over a ring."""
    random = np.random.default_rng(8)
    five, three, eight = constant(12, 5, 0.5), constant(12, 3, 0.3), constant(10, 8, 0.4)
    tail = three.copy()
    tail[:, 0] += random.exponential(0.5, 12)
    four = jitter(16, 4, 0.01, 0.4)
    moves = four.copy()
    moves[np.arange(16), np.arange(16) // 4] *= 4
    uneven = tuple(int(n) for n in random.integers(1_000, 90_000, 12))
    two_slow = slower(eight, w1=2, w6=3)
    links = {"latency": 0.001, "bandwidth": 1e6}
    return [
        Setting("ring of 5, one slow", five, slower(five, w2=3), floats=(50_000,) * 12, **links),
        Setting("ring of 3, uneven messages, a long tail", three, tail, floats=uneven, **links),
        Setting("ring of 8, two slow", eight, two_slow, floats=(20_000,) * 10, **links),
        Setting("ring of 4, the straggler changes", four, moves, floats=(30_000,) * 16, **links),
    ]


def with_spares() -> list[Setting]:
    """N of N + b by a server."""
    few, many = jitter(40, 5, 0.01), jitter(30, 20, 0.01)
    late = slower(many, w3=1.5, w8=2.2, w11=1.8, w19=3.0)
    return [
        Setting("4 of 5, two slow", few, slower(few, w3=2.3, w4=1.7), latency=0.03, spare=1),
        Setting("18 of 20, four slow", many, late, latency=0.02, spare=2),
        Setting("2 of 3, one slow", few[:, :3], slower(few[:, :3], w2=2.4), spare=1),
    ]
