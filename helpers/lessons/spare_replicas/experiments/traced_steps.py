"""The steps of a run from its trace: when each worker began each of them, and had its gradient.

The two tables are what `helpers.lessons.spare_replicas.algorithms.blame` and exercise 07.6 take.
For runs of which only the times are wanted there is a task without a model.
"""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.engine.trace import Event, Trace


def begun_and_ready(trace: Trace, first: int = 0) -> tuple[Tensor, Tensor]:
    """begun: (steps + 1, workers) and ready: (steps, workers), in seconds.

    Each stretch of computing of a worker is a step, as in synchronous training that waits for all.
    The last one that all have begun says when the step before was over. first: steps to leave out,
    while a run warms up. Raises ValueError where fewer than one whole step is left.
    """
    all_of = [stretches(trace.of(worker, lane=0)) for worker in range(trace.size)]
    steps = min(map(len, all_of)) - 1
    if steps - first < 1:
        raise ValueError(f"The trace has {max(steps, 0)} whole steps; {first} are left out.")
    begun = [[mine[step][0] for mine in all_of] for step in range(first, steps + 1)]
    ready = [[mine[step][1] for mine in all_of] for step in range(first, steps)]
    return torch.tensor(begun, dtype=torch.float64), torch.tensor(ready, dtype=torch.float64)


def stretches(events: list[Event]) -> list[tuple[float, float]]:
    """A worker's stretches of computing: from where it begins to where something else does.

    What it does after its last message is a stretch as well, if only of no length.
    """
    found: list[tuple[float, float]] = []
    computed = False
    for event in sorted(events, key=lambda event: (event.start, event.end)):
        if event.kind != "computing":
            computed = False
        elif computed:
            found[-1] = found[-1][0], event.end
        else:
            found.append((event.start, event.end))
            computed = True
    if events and not computed:
        found.append((max(event.end for event in events),) * 2)
    return found


class NoGradients:
    """One weight that stays 0: a training of it costs nothing but the clock's own work."""

    def initial(self) -> torch.Tensor:
        """The weights, (1,)."""
        return torch.zeros(1)

    def rows(self, worker: int, step: int, batch: int) -> torch.Tensor:
        """Row 0, over and over: (batch,)."""
        return torch.zeros(batch, dtype=torch.long)

    def gradient(self, weights: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """0, (1,), or for many at once (n, 1)."""
        return torch.zeros_like(weights)

    gradients = gradient

    def error(self, weights: torch.Tensor) -> float:
        """0 %: there is nothing to get wrong."""
        return 0.0
