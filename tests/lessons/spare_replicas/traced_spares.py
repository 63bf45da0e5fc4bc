"""The operations of a run of N of N + b from its trace, for a replay that waits for N."""

from __future__ import annotations

import math

import torch

from helpers.engine.servers.training import Training
from helpers.lessons.spare_replicas.algorithms.what_if import Operations
from helpers.lessons.spare_replicas.experiments.traced_steps import stretches


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
    all_of = [stretches(trace.of(worker, lane=0)) for worker in range(workers)]
    spans = {
        (version, worker): span
        for worker in range(workers)
        for version, span in zip(versions[worker], all_of[worker], strict=False)
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
            if place + 1 < len(all_of[worker]):
                begins = all_of[worker][place + 1][0]
                sending[version, worker] = begins - (made[version] if counts else end)
            going_on = version + 1 if counts else sum(moment <= end for moment in made)
        if going_on < steps:
            computing[going_on, worker] = math.inf
    return Operations(computing, sending)
