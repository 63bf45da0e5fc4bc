"""Step times with stragglers: as Chen et al. measured them on 100 workers, and made on purpose.

Chen, Pan, Monga, Bengio, Józefowicz: "Revisiting Distributed Synchronous SGD" (arXiv 1604.00981,
2017 version), figures 3 and 4 and the text of section 2. And how many iterations training takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from helpers.lessons.parameter_servers.experiments.step_times import (
    BLOCK,
    StepTimes,
    above_zero,
    not_below_zero,
)
from helpers.notebook.published import load

FEWEST, MOST = 50, 100  # workers aggregated that iterations are published for


@dataclass(frozen=True)
class FittedStragglers(StepTimes):
    """A body of fast workers, some late ones, one slow machine in a hundred, and a long tail.

    What all workers of a step share is how busy the step is: `busy`, gamma with mean 1. Then

    - a worker takes `floor` + (`base` + `scale` × busy) × (1 + `spread` × normal) seconds;
    - it is late with probability 1 − exp(−`late` × busy), by `delay` × exponential seconds. Since
      a busy step makes many late at once, their number spreads wider than Poisson's;
    - workers 99, 199, … sit on a slow machine: in the share `slow_share` of steps it takes
      `slow_by` ± `slow_spread` seconds more;
    - in a share `stuck` of steps a worker hangs for 5 to 310 s (310 s is the paper's maximum),
      with probability falling as 1/seconds.

    On a clock such a row of times is a spell of the cluster, `spell` seconds long: who is late,
    slow or stuck stays so for all of its steps that begin in it. The paper's steps begin together
    and say nothing of how long a spell lasts; that its real runs with spare workers take no longer
    than the mean time to the N-th gradient says that it is longer than a step. No hang is shorter
    than a spell, so that none comes twice.

    The values were found by `python -m benchmarks.fit_stragglers`, which prints them with the
    objective. All times are in seconds.
    """

    floor: float = 1.25
    base: float = 0.2
    scale: float = 0.151
    shape: float = 2.3
    spread: float = 0.217
    late: float = 0.0137
    delay: float = 0.575
    stuck: float = 0.00008
    slow_share: float = 0.425
    slow_by: float = 1.19
    slow_spread: float = 0.132
    shortest_stuck: float = 5.0
    longest: float = 310.0
    spell: float = 5.0

    def __post_init__(self) -> None:
        for name in ("floor", "base", "scale", "shape", "delay", "spell"):
            above_zero(getattr(self, name), name)
        for name in ("spread", "late", "stuck", "slow_share", "slow_by", "slow_spread"):
            not_below_zero(getattr(self, name), name)
        if max(self.stuck, self.slow_share) > 1:
            raise ValueError("stuck and slow_share are shares of steps, from 0 to 1.")
        if not self.spell <= self.shortest_stuck < self.longest:
            raise ValueError(
                f"spell, shortest_stuck and longest grow in this order, not {self.spell:g}, "
                f"{self.shortest_stuck:g} and {self.longest:g} s: a worker would hang twice."
            )

    def times(
        self, steps: int, numbers: np.ndarray, own: np.random.Generator, common: np.random.Generator
    ) -> np.ndarray:
        """Draws that share how busy each step is."""
        busy = common.gamma(self.shape, 1 / self.shape, (steps, 1))
        times = own.standard_normal((steps, len(numbers)))
        times *= self.spread
        times += 1
        np.maximum(times, 0, out=times)
        times *= self.base + self.scale * busy
        times += self.floor
        self._add_delays(times, busy, 1 - own.random((steps, len(numbers))))  # never 0
        self._add_slow_machine(times, numbers, own)
        return times

    def on_clock(self, worker: int, seed: int) -> Callable[[float], float]:
        """A worker's seconds in the spell in which its step begins: a row of `table` each."""
        known: dict[int, list[float]] = {}  # the last block alone

        def seconds(now: float) -> float:
            block, row = divmod(int(now / self.spell), BLOCK)
            if block not in known:
                known.clear()
                known[block] = self._block(worker, seed, block).tolist()
            return known[block][row]

        return seconds

    def _add_delays(self, times: np.ndarray, busy: np.ndarray, uniform: np.ndarray) -> None:
        """Late and stuck workers. One uniform number says who is, and how much it is."""
        late = 1 - np.exp(-self.late * busy)
        row, column = np.nonzero(uniform < late)
        times[row, column] -= self.delay * np.log(uniform[row, column] / late[row, 0])
        if self.stuck:
            stuck = uniform > 1 - self.stuck
            part = (1 - uniform[stuck]) / self.stuck  # uniform again
            times[stuck] = self.shortest_stuck / (
                1 - part * (1 - self.shortest_stuck / self.longest)
            )

    def _add_slow_machine(
        self, times: np.ndarray, numbers: np.ndarray, own: np.random.Generator
    ) -> None:
        for column in np.nonzero(numbers % 100 == 99)[0]:
            slow = own.random(len(times)) < self.slow_share
            more = self.slow_by + self.slow_spread * own.standard_normal(len(times))
            times[:, column] += np.where(slow, np.maximum(more, 0), 0)
        np.minimum(times, self.longest, out=times)


@dataclass(frozen=True)
class Straggling(StepTimes):
    """Another model's times, made longer for some workers.

    So a clock can run both: with the stragglers, and the same draws without them.
    slow: by what factor, by worker. stops: by worker, in which steps (one of so many) it stops, and
    for how many seconds.
    """

    base: StepTimes
    slow: Mapping[int, float] = field(default_factory=dict)
    stops: Mapping[int, tuple[int, float]] = field(default_factory=dict)

    def times(
        self, steps: int, numbers: np.ndarray, own: np.random.Generator, common: np.random.Generator
    ) -> np.ndarray:
        """The base's draws, with what comes on top."""
        table = self.base.times(steps, numbers, own, common).copy()
        for column, worker in enumerate(numbers.tolist()):
            table[:, column] *= self.slow.get(worker, 1.0)
            every, seconds = self.stops.get(worker, (1, 0.0))
            table[every - 1 :: every, column] += seconds
        return table


def iterations(aggregated: Sequence[int] | np.ndarray) -> np.ndarray:
    """Iterations to converge by the number of gradients in each mean, N: (len(aggregated),).

    Hours are these, times the mean time to the N-th of N + b gradients. Published at 50, 70, 80,
    90 and 100 (section 4.1); straight lines lie between, as the paper's own hours ask for.
    Raises ValueError outside 50 to 100.
    """
    wanted = np.asarray(aggregated)
    if wanted.size and not (wanted.min() >= FEWEST and wanted.max() <= MOST):
        raise ValueError(
            f"Iterations are published for {FEWEST} to {MOST} gradients a step, not for "
            f"{wanted.min()} to {wanted.max()}."
        )
    points = load("chen2017_fig5_kiter").data
    return 1e3 * np.interp(wanted, [int(n) for n in points], list(points.values()))
