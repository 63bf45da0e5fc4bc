"""Times of workers some of which straggle, on top of a model that says how they would be without.

So a clock can run both: with the stragglers, and the same draws without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from helpers.lessons.parameter_servers.experiments.step_times import StepTimes


@dataclass(frozen=True)
class Straggling(StepTimes):
    """Another model's times, made longer for some workers.

    slow: by what factor, by worker. stops: by worker, in which steps (one of so many) it stops, and
    for how many seconds. moves: one worker after the other is so many times as slow, each for so
    many steps: (factor, steps, workers).
    """

    base: StepTimes
    slow: Mapping[int, float] = field(default_factory=dict)
    stops: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    moves: tuple[float, int, int] | None = None

    def times(
        self, steps: int, numbers: np.ndarray, own: np.random.Generator, common: np.random.Generator
    ) -> np.ndarray:
        """The base's draws, with what comes on top."""
        table = self.base.times(steps, numbers, own, common).copy()
        for column, worker in enumerate(numbers.tolist()):
            table[:, column] *= self.slow.get(worker, 1.0)
            every, seconds = self.stops.get(worker, (1, 0.0))
            table[every - 1 :: every, column] += seconds
            if self.moves is not None:
                factor, long, workers = self.moves
                table[np.arange(steps) // long % workers == worker, column] *= factor
        return table
