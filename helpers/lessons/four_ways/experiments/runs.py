"""Train in one of the four ways on real servers and workers, and see what it did.

`train_way("in-graph sync", workers=3, servers=1)` starts a cluster of processes for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from helpers.engine.tf_cluster import run_cluster
from helpers.lessons.four_ways.experiments import between_graph, in_graph, model
from helpers.lessons.four_ways.experiments.record import WAYS, Function, Gradient, Setting, Told

BATCH = 20  # rows of a worker's batch


def own(name: str) -> Function:
    """The course's own function of that name, or of that way. A learner's copy may lack it."""
    from helpers.lessons.four_ways.algorithms import four_ways

    function: Function = getattr(four_ways, name.replace("-", "_").replace(" ", "_"))
    return function


def builder_of(way: str, given: Function | None) -> Function:
    """The builder that was given, or the course's own. Raises ValueError for what is no way."""
    if way not in WAYS:
        raise ValueError(f"There is no way {way!r}; there are: {', '.join(WAYS)}.")
    return given or own(way)


@dataclass(frozen=True)
class WayRun:
    """A training. gradients: all of them, by the time at which they ended.

    weights: in the end, in the order of `model.NAMES`. loss: of the mean training row then, in
    nats. updates: the global step then.
    """

    way: str
    workers: int
    servers: int
    gradients: list[Gradient]
    weights: list[np.ndarray]
    loss: float
    updates: int

    @property
    def staleness(self) -> list[int]:
        """Of each gradient that counted."""
        return [each.staleness for each in self.gradients if each.counted]

    @property
    def counted(self) -> list[int]:
        """How many gradients of each worker came into the weights."""
        return [self._count(worker, True) for worker in range(self.workers)]

    @property
    def dropped(self) -> list[int]:
        """How many gradients of each worker came too late and were thrown away."""
        return [self._count(worker, False) for worker in range(self.workers)]

    def _count(self, worker: int, counted: bool) -> int:
        return sum(g.worker == worker and g.counted == counted for g in self.gradients)

    @property
    def steps_per_second(self) -> float:
        """Batches that all workers together computed in a second, once all have made one.

        The first is not measured: in it TensorFlow prunes, cuts and sends its graphs. Where one
        worker was so late with it that half of the run was over, the first of all is left out.
        """
        ends = [each.end for each in self.gradients]
        first: dict[int, float] = {}
        for each in self.gradients:
            first.setdefault(each.worker, each.end)
        begin = max(first.values())
        if sum(end > begin for end in ends) < len(ends) / 2:
            begin = ends[0]
        rest = [end for end in ends if end > begin]
        return len(rest) / (rest[-1] - begin) if rest else float("nan")


def train_way(
    way: str,
    workers: int = 3,
    servers: int = 1,
    steps: int = 60,
    slow: Mapping[int, float] | None = None,
    spare: int = 0,
    strict: bool = True,
    seed: int = 0,
    builder: Function | None = None,
    threads: Function | None = None,
) -> WayRun:
    """Train a 64-32-10 network on the digits in one of the four `WAYS`.

    steps: updates of a synchronous way, each from `workers` batches; an asynchronous way makes
    workers × steps updates of a batch each, so that all see as many rows. slow: seconds by which a
    worker's batches come late, such as {2: 0.05}. spare: workers whose gradients an update does not
    wait for ("between-graph sync" alone). strict: where none is spare, nobody begins a step before
    all have their tokens; without that a quick worker can take another's. builder: a function of
    one's own in place of the one in `algorithms.four_ways`; threads: the same for `run_threads`.

    Raises ValueError for a setting that cannot be, and what `run_cluster` raises.
    """
    if threads is None and way == "in-graph async":
        threads = own("run_threads")
    builder = builder_of(way, builder)
    setting = Setting(way, workers, servers, builder, threads, steps, slow or {}, spare, strict)
    rows = model.data(workers, BATCH, steps, seed)
    one = way.startswith("in-graph")
    client = in_graph.client if one else between_graph.client
    told: list[Told] = run_cluster(
        client, setting, rows, servers=servers, workers=workers, coordinator=one
    )
    gradients = sorted((g for each in told for g in each.gradients), key=lambda g: g.end)
    weights = told[0].weights or []
    loss = model.mean_loss(weights, rows.x, rows.y)
    return WayRun(way, workers, servers, gradients, weights, loss, told[0].updates)


def train_alone(workers: int = 3, steps: int = 60) -> list[np.ndarray]:
    """The weights after the same training with one big batch a step, without TensorFlow."""
    return model.train_alone(model.data(workers, BATCH, steps, seed=0), steps, Setting.rate)
