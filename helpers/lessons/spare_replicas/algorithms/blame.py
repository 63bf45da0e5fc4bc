"""Which worker cost what: a run replayed again and again, each time with other workers fixed.

What replays it is given: a function `what_if(begun, ready, fixed)` that gives begun and ready of
the run that would have been with the workers in `fixed` as quick as is usual. The ratios are those
of Lin et al., OSDI 2025, and of the program that belongs to it
(github.com/ByteDance-Seed/StragglerAnalysis), which numbers them as the paper's equations:

- S, the slowdown (equation 1): the run's time over its time with all workers fixed;
- S_w, what worker w alone costs (4): the time with all workers *but w* fixed, over that with all
  fixed;
- M_W, what some workers explain (5): the part of the lost time that is back once these alone are
  fixed. The paper takes the slowest 3 % of all workers for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

Replay = Callable[[Any, Any, list[int]], tuple[Any, Any]]


class Blame:
    """The times of one run with some workers fixed, and what follows from them.

    begun: (steps + 1, workers) and ready: (steps, workers), tensors of seconds, of the run.
    """

    def __init__(self, begun: Any, ready: Any, what_if: Replay) -> None:
        self.begun, self.ready, self.what_if = begun, ready, what_if
        self.workers = range(ready.shape[1])
        self.taken = lasted(begun)
        self.ideal = self.without(self.workers)

    def without(self, workers: Iterable[int]) -> float:
        """Seconds of the run, had these workers been as quick as is usual."""
        begun, _ = self.what_if(self.begun, self.ready, sorted(workers))
        return lasted(as_table(begun))

    @property
    def error(self) -> float:
        """How far a replay with nobody fixed is from the run, as a part of it."""
        return self.without(()) / self.taken - 1

    @property
    def slowdown(self) -> float:
        """S, 1 where nobody is late."""
        return self.taken / self.ideal

    def cost(self, worker: int) -> float:
        """S_w of one worker, 1 where it makes nobody wait."""
        return self.without(set(self.workers) - {worker}) / self.ideal

    def explained(self, workers: Iterable[int]) -> float | None:
        """M_W of some workers; None where there is nothing to explain."""
        lost = self.taken - self.ideal
        return (self.taken - self.without(workers)) / lost if lost > 1e-9 * self.taken else None

    def stragglers(self, least: float = 1.05) -> list[int]:
        """The workers that cost so much by themselves, the dearest first."""
        costs = {worker: self.cost(worker) for worker in self.workers}
        late = [worker for worker in self.workers if costs[worker] >= least]
        return sorted(late, key=lambda worker: -costs[worker])


def as_table(rows: Any) -> torch.Tensor:
    """Begun or ready as a tensor, where a replay gave lists."""
    return torch.stack([torch.as_tensor(row) for row in rows])


def lasted(begun: Any) -> float:
    """Seconds from the first worker's beginning to the last one's end."""
    return float(begun[-1].max() - begun[0].min())
