"""Two real ranks as a pipeline: how much of a step they idle, beside (p − 1)/(m + p − 1).

The formula holds for stages and microbatches that all take the same time. Real ones differ by some
milliseconds, and whoever is late makes the other wait, so the work of a microbatch has to be large
against that.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.report import Report

COUNTS, REPEATS = (1, 2, 4, 8), 5
WIDTH, LENGTH, ROWS, BLOCKS = 256, 128, 64, 8
ERROR = 0.15
"""How far the measured share may be from the formula, in parts of it."""


def spans(comm: Any, schedule: Any) -> dict[int, list[Any]]:
    """What this rank did when, for each number of microbatches in every repeat."""
    import torch
    from torch import nn

    from helpers.algorithms.pipeline import Pipeline, cut, microbatches
    from helpers.workloads.transformer import transformer

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


def measure() -> Report:
    """GPipe and 1F1B, on two ranks with one thread each."""
    import helpers
    from helpers.algorithms.schedules import bubble, gpipe, one_forward_one_backward
    from helpers.algorithms.timetable import idle_share

    report = Report("bubble", "Two stages on two ranks: seconds of a step, and the share idled")
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
