"""Two real ranks as a pipeline: how much of a step they idle, beside (p − 1)/(m + p − 1).

The formula holds for stages and microbatches that all take the same time. Real ones differ by some
milliseconds, and whoever is late makes the other wait, so the work of a microbatch has to be large
against that. And two ranks that compute at the same time may slow each other, where they share a
core or the memory's bandwidth: then a rank is quicker while the other idles, and the share idled is
smaller. How much, a stage says that computes alone and beside the other.
"""

from __future__ import annotations

import os
from statistics import median
from typing import Any

from benchmarks.report import Report

COUNTS, REPEATS = (1, 2, 4, 8), 5
# Wide and short: much arithmetic for each byte, since ranks share the memory's bandwidth.
WIDTH, LENGTH, ROWS, BLOCKS = 512, 32, 96, 8
ERROR = 0.15
"""How far the measured share may be from the formula, in parts of it."""


def stay(comm: Any) -> None:
    """Keep this rank on a core of its own: one that moves to the other's makes both late."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[comm.rank % len(cores)]})


def spans(comm: Any, schedule: Any) -> dict[int, list[Any]]:
    """What this rank did when, for each number of microbatches in every repeat."""
    import torch
    from torch import nn

    from helpers.lessons.pipelines.algorithms.pipeline import Pipeline, cut, microbatches
    from helpers.lessons.splitting.experiments.transformer import transformer

    stay(comm)
    # Blocks alone, so that all stages are equal.
    blocks = nn.Sequential(*list(transformer(width=WIDTH, blocks=BLOCKS, length=LENGTH))[1:-1])
    stages, vectors = cut(blocks, comm.size), torch.randn(ROWS, LENGTH, WIDTH)
    pipeline = Pipeline(comm, stages, schedule, nn.functional.mse_loss)
    found: dict[int, list[Any]] = {count: [] for count in COUNTS}
    for repeat in range(-1, REPEATS):
        for count in COUNTS:
            targets = microbatches(vectors, count)
            # The first stage computes its inputs' gradients too, as the others have to.
            inputs = [target.clone().requires_grad_() for target in targets]
            comm.barrier()
            pipeline.step(inputs, targets)
            if repeat >= 0:
                found[count].append(pipeline.spans)
    return found


def crowding(comm: Any) -> tuple[list[float], list[float]]:
    """Seconds of this rank's stage on a microbatch: while the others wait, and while they work."""
    import torch
    from torch import nn

    from helpers.lessons.pipelines.algorithms.pipeline import cut
    from helpers.lessons.splitting.experiments.transformer import transformer

    stay(comm)
    blocks = nn.Sequential(*list(transformer(width=WIDTH, blocks=BLOCKS, length=LENGTH))[1:-1])
    stage: Any = cut(blocks, comm.size)[comm.rank]
    vectors = torch.randn(ROWS // COUNTS[-1], LENGTH, WIDTH)

    def seconds() -> float:
        start = comm.time()
        stage(vectors).sum().backward()
        return float(comm.time() - start)

    alone, beside = [], []
    for _ in range(REPEATS + 1):
        for turn in range(comm.size):
            comm.barrier()
            if turn == comm.rank:
                alone.append(seconds())
        comm.barrier()
        beside.append(seconds())
    return alone[1:], beside[1:]


def measure() -> Report:
    """GPipe and 1F1B, on two ranks with one thread each."""
    import helpers
    from helpers.lessons.pipelines.algorithms.schedules import (
        bubble,
        gpipe,
        one_forward_one_backward,
    )
    from helpers.lessons.pipelines.algorithms.timetable import idle_share

    report = Report("bubble", "Two stages on two ranks: seconds of a step, and the share idled")
    alone, beside = helpers.run(crowding, ranks=2, timeout=300, show=False)[0]
    slower = median(beside) / median(alone)
    report.add("a stage's microbatch", "alone", alone)
    report.add("a stage's microbatch", "beside another", beside, f"{slower:.2f}× as long")
    for name, schedule in (("GPipe", gpipe), ("1F1B", one_forward_one_backward)):
        ranks = helpers.run(spans, schedule, ranks=2, timeout=300, show=False)
        for count in COUNTS:
            steps = list(zip(*(rank[count] for rank in ranks), strict=True))
            share = median(idle_share(step) for step in steps)
            formula = float(bubble(2, count))
            seconds = [
                max(s[-1].end for s in step) - min(s[0].start for s in step) for step in steps
            ]
            note = f"idle {100 * share:.1f} %, by formula {100 * formula:.1f} %"
            report.add(f"{count} microbatches", name, seconds, note)
            text = f"{name}, {count} microbatches: idle, off the formula by"
            report.claim(text, abs(share - formula) / formula, ERROR, False, " of it")
    return report
