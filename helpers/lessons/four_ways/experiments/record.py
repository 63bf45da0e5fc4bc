"""What is noted of a run while it trains, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from helpers.lessons.four_ways.experiments import model

Function = Callable[..., Any]
WAYS = ("in-graph sync", "between-graph sync", "in-graph async", "between-graph async")


@dataclass(frozen=True)
class Setting:
    """What every process of a run is told; all but `workers` as `train_way` takes it.

    steps: updates of a synchronous way; an asynchronous way makes workers × steps. Raises
    ValueError for a setting that cannot be.
    """

    way: str
    workers: int
    servers: int
    builder: Function
    threads: Function | None = None
    steps: int = 1
    slow: Mapping[int, float] = field(default_factory=dict)
    spare: int = 0
    strict: bool = True
    rate: float = 0.5

    def __post_init__(self) -> None:
        workers, slow = self.workers, self.slow
        if workers < 1 or self.servers < 1 or self.steps < 1:
            raise ValueError("Training takes at least 1 worker, 1 server and 1 step.")
        if not set(slow) <= set(range(workers)) or any(not 0 <= s < 10 for s in slow.values()):
            raise ValueError(
                f"slow gives workers 0 to {workers - 1} a time from 0 to 10 seconds, not {slow}."
            )
        if self.spare and self.way != "between-graph sync":
            raise ValueError(f'{self.way} has no spare workers: only "between-graph sync" has.')
        if not 0 <= self.spare < workers:
            raise ValueError(
                f"Of {workers} workers, 0 to {workers - 1} can be spare, not {self.spare}."
            )

    @property
    def last(self) -> int:
        """The global step that training ends at."""
        return self.steps if self.way.endswith(" sync") else self.steps * self.workers


class Gradient(NamedTuple):
    """One gradient, from the weights being read to its arrival.

    start, end: on this machine's clock, in seconds. version: the global step when the weights
    were read. staleness: updates by others between that and this gradient's own. loss: of its
    batch, in nats. counted: whether it came into the weights.
    """

    worker: int
    start: float
    end: float
    version: int
    staleness: int
    loss: float
    counted: bool = True


class Told(NamedTuple):
    """What a client tells in the end: its gradients, and the weights if it looked at them."""

    gradients: list[Gradient]
    weights: list[np.ndarray] | None
    updates: int


class Noted:
    """The model's loss, as builders are given it: it notes what it was asked for.

    step: where given, the version is read before the weights are. made: for each call the version
    (or None) and the loss.
    """

    def __init__(self, step: Any = None) -> None:
        self.step = step
        self.made: list[tuple[Any, Any]] = []

    def __call__(self, batch: Any, variables: list[Any]) -> Any:
        import tensorflow as tf

        version = None if self.step is None else self.step.read_value()
        with tf.control_dependencies([] if version is None else [version]):
            value = model.loss(batch, variables)
        self.made.append((version, value))
        return value


def descent(rate: float) -> Any:
    """Plain gradient descent."""
    import tensorflow as tf

    return tf.compat.v1.train.GradientDescentOptimizer(rate)
