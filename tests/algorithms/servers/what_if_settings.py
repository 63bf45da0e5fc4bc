"""Ten settings whose run without stragglers is known: the clock runs it as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import helpers
from helpers.algorithms.messages.collectives import all_reduce_ring
from helpers.algorithms.servers.server_optimizers import Sgd
from helpers.algorithms.servers.update_rules import SpareReplicas
from helpers.engines.servers.training import Training
from helpers.engines.trace import Trace
from helpers.workloads.no_gradients import NoGradients


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


def ten() -> list[Setting]:
    """The ten."""
    random = np.random.default_rng(7)

    def even(steps: int, workers: int, seconds: float = 1.0) -> np.ndarray:
        return np.full((steps, workers), seconds)

    def one_slow(table: np.ndarray, factor: float, worker: int = -1) -> np.ndarray:
        table = table.copy()
        table[:, worker] *= factor
        return table

    made = [Setting("1 worker, nobody to compare with", even(9, 1), even(9, 1), 0.02)]
    two = even(20, 2)
    made.append(Setting("2 workers, one 4 times as slow", two, one_slow(two, 4), 0.02))
    long_and_short = random.uniform(0.5, 2.0, (24, 1)) * even(24, 3)
    late = long_and_short.copy()
    late[::4, 1] += 3.0
    made.append(
        Setting(
            "3 workers, long and short steps, one stops now and then", long_and_short, late, 0.05
        )
    )
    shaken = even(60, 5) * random.normal(1, 0.02, (60, 5))
    made.append(
        Setting(
            "5 workers, all jitter, one 2.5 times as slow", shaken, one_slow(shaken, 2.5, 0), 0.01
        )
    )
    many = even(40, 20)
    late = many * np.where(random.random(many.shape) < 0.05, random.uniform(2, 6, many.shape), 1)
    made.append(Setting("20 workers, anybody late at random", many, late, 0.01))
    ring = {"latency": 0.001, "bandwidth": 1e6}
    five, floats = even(12, 5, 0.5), (50_000,) * 12
    made.append(
        Setting("ring of 5, one 3 times as slow", five, one_slow(five, 3, 2), floats=floats, **ring)
    )
    three, floats = even(12, 3, 0.3), tuple(int(n) for n in random.integers(1_000, 90_000, 12))
    late = three.copy()
    late[:, 0] += random.exponential(0.5, 12)
    made.append(
        Setting(
            "ring of 3, uneven messages, one with a long tail", three, late, floats=floats, **ring
        )
    )
    eight, floats = even(10, 8, 0.4), (20_000,) * 10
    late = one_slow(one_slow(eight, 2, 1), 3, 6)
    made.append(Setting("ring of 8, two stragglers", eight, late, floats=floats, **ring))
    four, floats = even(16, 4, 0.4) * random.normal(1, 0.01, (16, 4)), (30_000,) * 16
    late = four.copy()
    late[np.arange(16), np.arange(16) // 4] *= 4
    made.append(
        Setting(
            "ring of 4, the straggler moves on every 4 steps", four, late, floats=floats, **ring
        )
    )
    spared = even(40, 5) * random.normal(1, 0.01, (40, 5))
    late = one_slow(one_slow(spared, 2.3, 3), 1.7, 4)
    made.append(Setting("4 of 5 by a server, two stragglers", spared, late, 0.03, spare=1))
    return made
