"""What is noted of a run while it trains, and what it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from helpers.lessons.four_ways.experiments import model

Function = Callable[..., Any]


@dataclass(frozen=True)
class Setting:
    """What every process of a run is told. slow: the seconds by which a worker's batch is late.

    steps: updates of a synchronous way; an asynchronous way makes workers × steps. aggregate: how
    many gradients make an update. strict: as `train_way` takes it.
    """

    way: str
    workers: int
    steps: int
    slow: dict[int, float]
    rate: float
    aggregate: int
    strict: bool
    builder: Function
    threads: Function | None

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
