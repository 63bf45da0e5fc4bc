"""The steps of a run from its trace: when each worker began each of them, and had its gradient.

The two tables are what `helpers.algorithms.servers.blame` and exercise 07.6 take.
"""

from __future__ import annotations

import torch
from torch import Tensor

from helpers.engines.trace import Event, Trace


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


def operations_of(run: Training) -> Operations:
    """The operations of a run of N of N + b under one server, by the version computed on.

    Needs the run's trace. What a worker was still computing when the run ended takes inf.
    """
    trace, server = run.trace, run.servers[0]
    assert trace is not None
    steps, workers = len(server.updates), trace.size
    applied = {(push.version, push.worker) for update in server.updates for push in update}
    known = sorted(applied | {(push.version, push.worker) for push in server.dropped})
    versions = [[v for v, worker in known if worker == w and v < steps] for w in range(workers)]
    stretches = [stretches(trace.of(worker, lane=0)) for worker in range(workers)]
    spans = {
        (version, worker): span
        for worker in range(workers)
        for version, span in zip(versions[worker], stretches[worker], strict=False)
    }
    made = [max(spans[v, w][1] for v, w in applied if v == step) for step in range(steps)]
    computing = torch.full((steps, workers), math.nan, dtype=torch.float64)
    sending = computing.clone()
    for worker, mine in enumerate(versions):
        going_on = 0
        for place, version in enumerate(mine):
            start, end = spans[version, worker]
            counts = (version, worker) in applied
            computing[version, worker] = end - start
            if place + 1 < len(stretches[worker]):
                begins = stretches[worker][place + 1][0]
                sending[version, worker] = begins - (made[version] if counts else end)
            going_on = version + 1 if counts else sum(moment <= end for moment in made)
        if going_on < steps:
            computing[going_on, worker] = math.inf
    return Operations(computing, sending)


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
