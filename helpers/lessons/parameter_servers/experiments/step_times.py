"""How long workers compute: models of step times, drawn as a table or one worker at a time.

Every model gives seconds. A worker's times follow from the seed and its number alone, so they do
not depend on who else asks; what all workers of a step share (a busy network) follows from the
seed and the step. On a clock a model may follow the moment instead: see `on_clock`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

BLOCK = 256  # steps of a worker that are drawn at once


class StepTimes(ABC):
    """A model of step times. A new one has to write `times` alone."""

    @abstractmethod
    def times(
        self, steps: int, numbers: np.ndarray, own: np.random.Generator, common: np.random.Generator
    ) -> np.ndarray:
        """Seconds of some workers in some steps: (steps, len(numbers)).

        numbers: of the workers. own: draws what is a worker's own. common: draws what all
        workers share in a step, the same amount whoever the workers are.
        """

    def draw(self, steps: int, workers: int, random: np.random.Generator) -> np.ndarray:
        """Seconds of workers 0 to `workers` − 1, step by step: (steps, workers)."""
        _at_least_one(steps, "step")
        _at_least_one(workers, "worker")
        return self.times(steps, np.arange(workers), random, random)

    def stream(self, worker: int, seed: int) -> Iterator[float]:
        """One worker's seconds, step after step, without end."""
        for block in count():
            yield from self._block(worker, seed, block).tolist()

    def on_clock(self, worker: int, seed: int) -> Callable[[float], float]:
        """What a clock asks: gives a worker's seconds for its next step, told when it begins.

        Each call gives the next of `stream`, whatever the moment, unless a model says otherwise.
        """
        drawn = self.stream(worker, seed)
        return lambda now: next(drawn)

    def table(self, steps: int, workers: int, seed: int) -> np.ndarray:
        """The beginning of every worker's stream: (steps, workers).

        A run of the clock with this seed and one from this table see the same seconds.
        """
        _at_least_one(steps, "step")
        _at_least_one(workers, "worker")
        table = np.empty((steps, workers))
        for start in range(0, steps, BLOCK):
            end = min(start + BLOCK, steps)
            for worker in range(workers):
                drawn = self._block(worker, seed, start // BLOCK)
                table[start:end, worker] = drawn[: end - start]
        return table

    def _block(self, worker: int, seed: int, block: int) -> np.ndarray:
        if seed < 0 or worker < 0:
            raise ValueError(
                f"Seeds and workers are numbered from 0; there is no seed {seed} "
                f"with worker {worker}."
            )
        own = np.random.default_rng((seed, block, worker + 1))
        common = np.random.default_rng((seed, block, 0))
        return self.times(BLOCK, np.array([worker]), own, common)[:, 0]


@dataclass(frozen=True)
class Constant(StepTimes):
    """Every step of every worker takes as long."""

    seconds: float = 1.0

    def __post_init__(self) -> None:
        above_zero(self.seconds, "seconds")

    def times(
        self, steps: int, numbers: np.ndarray, own: np.random.Generator, common: np.random.Generator
    ) -> np.ndarray:
        """The same seconds everywhere."""
        return np.full((steps, len(numbers)), float(self.seconds))


@dataclass(frozen=True)
class Gamma(StepTimes):
    """Times that spread about a mean. spread: the standard deviation over the mean."""

    mean: float = 1.0
    spread: float = 0.2

    def __post_init__(self) -> None:
        above_zero(self.mean, "mean")
        not_below_zero(self.spread, "spread")

    def times(
        self, steps: int, numbers: np.ndarray, own: np.random.Generator, common: np.random.Generator
    ) -> np.ndarray:
        """Independent draws."""
        if self.spread == 0:
            return np.full((steps, len(numbers)), float(self.mean))
        shape = self.spread**-2
        return own.gamma(shape, self.mean / shape, (steps, len(numbers)))


@dataclass(frozen=True)
class HeavyTail(StepTimes):
    """Log-normal times: half lie below the median, and a few far above.

    tail: the standard deviation of the logarithm. 0 is constant; with 0.5 one step in a hundred
    takes more than 3.2 medians, with 1 more than 10.
    """

    median: float = 1.0
    tail: float = 0.5

    def __post_init__(self) -> None:
        above_zero(self.median, "median")
        not_below_zero(self.tail, "tail")

    def times(
        self, steps: int, numbers: np.ndarray, own: np.random.Generator, common: np.random.Generator
    ) -> np.ndarray:
        """Independent draws."""
        return self.median * np.exp(self.tail * own.standard_normal((steps, len(numbers))))


@dataclass(frozen=True)
class OneSlow(StepTimes):
    """Another model's times, with one worker that always takes `factor` times as long."""

    base: StepTimes
    worker: int = 0
    factor: float = 3.0

    def __post_init__(self) -> None:
        above_zero(self.factor, "factor")
        if not isinstance(self.base, StepTimes):
            raise TypeError(
                f"base is a model of step times such as Gamma(), not a {type(self.base).__name__}."
            )

    def times(
        self, steps: int, numbers: np.ndarray, own: np.random.Generator, common: np.random.Generator
    ) -> np.ndarray:
        """The base's draws, with the slow worker's column stretched."""
        stretch = np.where(numbers == self.worker, float(self.factor), 1.0)
        return self.base.times(steps, numbers, own, common) * stretch

    def on_clock(self, worker: int, seed: int) -> Callable[[float], float]:
        """The base's, stretched."""
        drawn = self.base.on_clock(worker, seed)
        stretch = float(self.factor) if worker == self.worker else 1.0
        return lambda now: stretch * drawn(now)


def _at_least_one(number: int, what: str) -> None:
    if number < 1:
        raise ValueError(f"There has to be at least one {what}, not {number}.")


def above_zero(value: float, name: str) -> None:
    """Raise ValueError for a value that is not, under its name."""
    if not 0 < value < float("inf"):
        raise ValueError(f"{name} has to be above 0, not {value}.")


def not_below_zero(value: float, name: str) -> None:
    """Raise ValueError for a value that is, under its name."""
    if not 0 <= value < float("inf"):
        raise ValueError(f"{name} has to be 0 or more, not {value}.")
