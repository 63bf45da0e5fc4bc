"""What every update rule is made of: a gradient's fate, a decision, and the rule's own state.

Arrays are flat numpy arrays or torch tensors and are never changed in place.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

Array = Any


class Optimizer(Protocol):
    """Makes new weights of old ones and a gradient. factor: of the rate, where a cure lowers it."""

    factor: float

    def step(self, weights: Array, gradient: Array, version: int) -> Array:
        """The weights after one update, as a new array."""


class Push(NamedTuple):
    """One gradient, once its fate is known.

    version: of the weights that it was computed on. staleness: updates made since then.
    """

    worker: int
    version: int
    staleness: int


@dataclass(frozen=True)
class Decision:
    """What follows from an arrival. release: the workers that may pull now and go on.

    applied: the gradients in the update that was made now, if one was. dropped: the gradients that
    will never be used.
    """

    release: tuple[int, ...] = ()
    applied: tuple[Push, ...] = ()
    dropped: tuple[Push, ...] = ()


class Rule:
    """What all rules share: the weights, their version, and who takes part.

    weights: flat, what training starts from. optimizer: makes new weights of old ones and a
    gradient; a rule takes a copy, so that no two rules share a momentum. workers: how many there
    are (numbered from 0), or their numbers.
    """

    pushes = "gradients"
    rows: int | None = None  # of a worker's batch, where a cure changes it

    def __init__(
        self, weights: Array, optimizer: Optimizer | None, workers: int | Iterable[int]
    ) -> None:
        self.weights, self.optimizer = weights, copy.copy(optimizer)
        self.version = 0
        self.workers = set(range(workers)) if isinstance(workers, int) else set(workers)
        if not self.workers:
            raise ValueError("A rule needs at least one worker.")

    def start(self) -> tuple[int, ...]:
        """The workers that pull and begin, at the start or after a restart: who does not wait."""
        return tuple(sorted(self.workers))

    def pull(self, worker: int) -> tuple[Array, int]:
        """What a worker is given: the weights and their version."""
        return self.weights, self.version

    def arrive(self, worker: int, gradient: Array, version: int) -> Decision:
        """A worker's gradient, computed on this version of the weights, has arrived."""
        raise NotImplementedError

    def discard(self, worker: int, version: int) -> Decision:
        """Leave a gradient out; its worker pulls and goes on."""
        return Decision(release=(worker,), dropped=(self.push(worker, version),))

    def leave(self, worker: int) -> Decision:
        """A worker is gone for good; nobody waits for it any more."""
        self.workers.discard(worker)
        return Decision()

    def apply(self, gradient: Array) -> None:
        """Make one update."""
        if self.optimizer is None:
            raise TypeError(f"{type(self).__name__} has no optimizer to apply a gradient with.")
        self.weights = self.optimizer.step(self.weights, gradient, self.version)
        self.version += 1

    def push(self, worker: int, version: int) -> Push:
        """Name a gradient by its worker and its staleness now. Raises ValueError for a stranger."""
        if worker not in self.workers:
            raise ValueError(f"Worker {worker} does not take part; {sorted(self.workers)} do.")
        if not 0 <= version <= self.version:
            raise ValueError(
                f"Worker {worker} computed on version {version}, but there are only versions 0 to "
                f"{self.version}."
            )
        return Push(worker, version, self.version - version)


def mean(arrays: Sequence[Array]) -> Array:
    """The mean of arrays, added in the order given."""
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return total / len(arrays)
