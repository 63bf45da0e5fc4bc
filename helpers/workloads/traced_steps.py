"""The steps of a run from its trace: when each worker began each of them, and had its gradient.

The two tables are what `helpers.algorithms.servers.blame` and exercise 07.6 take.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from helpers.algorithms.servers.what_if import Operations
from helpers.engines.servers.training import Training
from helpers.engines.trace import Event, Trace


def begun_and_ready(trace: Trace, first: int = 0) -> tuple[Tensor, Tensor]:
    """begun: (steps + 1, workers) and ready: (steps, workers), in seconds.

    Each stretch of computing of a worker is a step, as in synchronous training that waits for all.
    The last one that all have begun says when the step before was over. first: steps to leave out,
    while a run warms up. Raises ValueError where fewer than one whole step is left.
    """
    stretches = [_stretches(trace.of(worker, lane=0)) for worker in range(trace.size)]
    steps = min(map(len, stretches)) - 1
    if steps - first < 1:
        raise ValueError(f"The trace has {max(steps, 0)} whole steps; {first} are left out.")
    begun = [[mine[step][0] for mine in stretches] for step in range(first, steps + 1)]
    ready = [[mine[step][1] for mine in stretches] for step in range(first, steps)]
    return torch.tensor(begun, dtype=torch.float64), torch.tensor(ready, dtype=torch.float64)


def _stretches(events: list[Event]) -> list[tuple[float, float]]:
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


def operations_of(run: Training) -> Operations:
    """The operations of a run of N of N + b under one server, by the version computed on.

    Needs the run's trace. Steps without an update, at its end, are left out.
    """
    trace, server = run.trace, run.servers[0]
    assert trace is not None
    steps, workers = len(server.updates), trace.size
    applied = [{push.worker for push in update} for update in server.updates]
    dropped = {(push.version, push.worker) for push in server.dropped}
    spans: dict[tuple[int, int], tuple[float, float]] = {}
    after: dict[tuple[int, int], float] = {}
    for worker in range(workers):
        versions = [v for v in range(steps) if worker in applied[v] or (v, worker) in dropped]
        mine = _stretches(trace.of(worker, lane=0))
        for place, version in enumerate(versions):
            spans[version, worker] = mine[place]
            if place + 1 < len(mine):
                after[version, worker] = mine[place + 1][0]
    made = [max(spans[v, w][1] for w in applied[v]) for v in range(steps)]
    computing = torch.full((steps, workers), math.nan, dtype=torch.float64)
    sending = computing.clone()
    for (version, worker), (start, end) in spans.items():
        computing[version, worker] = end - start
        since = made[version] if worker in applied[version] else end
        sending[version, worker] = after.get((version, worker), math.nan) - since
    return Operations(computing, sending)
