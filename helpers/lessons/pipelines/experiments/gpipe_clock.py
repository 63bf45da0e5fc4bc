"""GPipe's published speedups, recomputed: its schedule carried out on the virtual clock.

The paper prints the throughput of a Transformer on K = 2, 4, 8 devices with M = 1, 4, 32
microbatches, as multiples of that with K = 2 and M = 1 (Huang et al. 2019, table 2). The bubble
alone cannot give these numbers: with M = 4 on 8 devices at most 4/11 of the time is work, so at
most 2.9 times as much as with K = 2 and M = 1 gets done, and the paper has 4.8. It says that the
batch was adjusted to fit memory, so a sample does not cost the same everywhere. Two numbers stand
for that, and both are fitted to the table: what agrees after that is weak evidence for them, and
none for the schedule, which is exact.

A sample's time falls with the samples b of a microbatch, as b^−exponent, since larger matrix
products use a processor better. On K devices each holds one K-th of the layers, so K times as many
samples fit, until the batch is what limits them: b = min(K, BATCH / M), in units of what one device
could hold. Messages between devices take no time. Backward takes three times as long as forward,
two for its own products and one for computing the activations again, which GPipe does for every
microbatch; speedups do not depend on that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from helpers.lessons.pipelines.algorithms.instructions import Forward, Instruction
from helpers.lessons.pipelines.algorithms.pipeline import Pipeline

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.pipelines.algorithms.schedules import Schedule

DEVICES, MICROBATCHES = (2, 4, 8), (1, 4, 32)
FITTED, BUBBLE_ALONE = 0.28, 0.0  # exponents
BATCH = 64.0  # fitted


def samples(devices: int, microbatches: int) -> float:
    """Samples in a microbatch, b."""
    return min(devices, BATCH / microbatches)


def throughput(devices: int, microbatches: int, exponent: float, schedule: Schedule) -> float:
    """Samples a unit of time, from one step of GPipe's schedule on the virtual clock.

    schedule: GPipe's, as somebody has written it. Every rank is a device with the same share of the
    layers and a small network of its own.
    """
    import helpers

    b = samples(devices, microbatches)
    forward = b ** (1 - exponent) / devices  # the time of one share
    free: dict[str, Any] = {"engine": "virtual", "latency": 0.0, "bandwidth": float("inf")}
    ends = helpers.run(_step, schedule, microbatches, forward, ranks=devices, **free)
    return microbatches * b / max(ends)


def speedups(exponent: float, schedule: Schedule) -> dict[str, list[float]]:
    """Throughput on 2, 4 and 8 devices for each M, relative to K = 2 and M = 1: {"M1": [1, …], …}.

    The keys and the order are those of the published entry `gpipe_table2_speedup`.
    """
    one = throughput(DEVICES[0], MICROBATCHES[0], exponent, schedule)
    return {
        f"M{m}": [throughput(k, m, exponent, schedule) / one for k in DEVICES] for m in MICROBATCHES
    }


def _step(comm: Comm, schedule: Schedule, count: int, forward: float) -> float:
    """A step on a rank; when it has gone backward for the last time."""

    def seconds(now: Instruction) -> float:
        return forward if isinstance(now, Forward) else 3 * forward

    stages: list[Any] = [nn.Linear(1, 1) for _ in range(comm.size)]
    pipeline = Pipeline(comm, stages, schedule, nn.functional.mse_loss, seconds=seconds)
    rows = [torch.ones(1, 1)] * count
    pipeline.step(rows, rows)
    return pipeline.spans[-1].end
