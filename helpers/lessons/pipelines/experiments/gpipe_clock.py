"""GPipe's published speedups, recomputed: its schedule carried out on the virtual clock.

The paper prints the throughput of a Transformer on K = 2, 4, 8 devices with M = 1, 4, 32
microbatches, as multiples of that with K = 2 and M = 1 (Huang et al. 2019, table 2). The bubble
alone cannot give these numbers: with M = 4 on 8 devices at most 4/11 of the time is work, so at
most 2.9 times as much as with K = 2 and M = 1 gets done, and the paper has 4.8. It says that the
batch was adjusted to fit memory, so a sample does not cost the same everywhere. `Assumptions` puts
that into two numbers, and both are fitted to the table: what agrees after that is weak evidence for
them, and none for the schedule, which is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helpers.lessons.pipelines.algorithms.instructions import Forward, Instruction

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.pipelines.algorithms.schedules import Schedule

DEVICES, MICROBATCHES = (2, 4, 8), (1, 4, 32)


@dataclass(frozen=True)
class Assumptions:
    """What the clock takes for granted.

    forward, backward: relative time of a layer; backward has two parts for its own products and one
        for computing the activations again, which GPipe does for every microbatch. Speedups do not
        depend on the two. All layers take the same, and messages between devices take no time.
    exponent: fitted. A sample's time falls with the samples b of a microbatch, as b^−exponent,
        since larger matrix products use a processor better. 0 leaves the bubble alone.
    batch: fitted. The most samples that a step takes, in units of what one device could hold.
    A microbatch has b = min(K, batch / M) samples in these units: on K devices each holds one K-th
    of the layers, so K times as many samples fit, until the batch is what limits them.
    """

    forward: float = 1.0
    backward: float = 3.0
    exponent: float = 0.28
    batch: float = 64.0

    def samples(self, devices: int, microbatches: int) -> float:
        """Samples in a microbatch, b."""
        return min(devices, self.batch / microbatches)


FITTED = Assumptions()
BUBBLE_ALONE = Assumptions(exponent=0.0)


def throughput(
    devices: int,
    microbatches: int,
    assumed: Assumptions = FITTED,
    schedule: Schedule | None = None,
) -> float:
    """Samples a unit of time, from one step of GPipe's schedule on the virtual clock.

    schedule: GPipe's as somebody else has written it, instead of the course's own.
    Every rank is a device with the same share of the layers and a small network of its own.
    """
    import helpers

    if schedule is None:
        from helpers.lessons.pipelines.algorithms.schedules import gpipe as schedule

    samples = assumed.samples(devices, microbatches)
    layers = samples ** (1 - assumed.exponent) / devices  # the time of one share, forward 1
    costs = layers * assumed.forward, layers * assumed.backward
    free: dict[str, Any] = {"engine": "virtual", "latency": 0.0, "bandwidth": float("inf")}
    ends = helpers.run(_step, schedule, microbatches, costs, ranks=devices, **free)
    return microbatches * samples / max(ends)


def speedups(
    assumed: Assumptions = FITTED, schedule: Schedule | None = None
) -> dict[str, list[float]]:
    """Throughput on 2, 4 and 8 devices for each M, relative to K = 2 and M = 1: {"M1": [1, …], …}.

    schedule: as for `throughput`. The keys and the order are those of the published entry
    `gpipe_table2_speedup`.
    """

    def of(devices: int, microbatches: int) -> float:
        return throughput(devices, microbatches, assumed, schedule)

    one = of(DEVICES[0], MICROBATCHES[0])
    return {f"M{m}": [of(k, m) / one for k in DEVICES] for m in MICROBATCHES}


def _step(comm: Comm, schedule: Schedule, count: int, costs: tuple[float, float]) -> float:
    """A step on a rank; when it has gone backward for the last time."""
    import torch
    from torch import nn

    from helpers.lessons.pipelines.algorithms.pipeline import Pipeline

    def seconds(now: Instruction) -> float:
        return costs[0] if isinstance(now, Forward) else costs[1]

    stages: list[Any] = [nn.Linear(1, 1) for _ in range(comm.size)]
    pipeline = Pipeline(comm, stages, schedule, nn.functional.mse_loss, seconds=seconds)
    rows = [torch.ones(1, 1)] * count
    pipeline.step(rows, rows)
    return pipeline.spans[-1].end
