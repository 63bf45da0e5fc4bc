"""A step of sharded training on the virtual clock, with a GPU's and a link's published figures.

The model is a scale model: units that compute for as long as the real ones would and hold a row of
few numbers, each of which stands for many. Links are slower by the same factor, so that a message
takes as long as a real one; memory is multiplied by it.
Assumed: half of the GPU's peak (`machines.Machine.seconds`), backward twice as long as forward, the
optimizer's update and the activations' memory left out, 10 µs for a message to begin.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from helpers.engine.trace import Trace
from helpers.lessons.messages.algorithms.cost_model import INTERCONNECTS
from helpers.lessons.sharding.algorithms.sharding import Sharded
from helpers.lessons.splitting.experiments.machines import machine

LATENCY = 10e-6
_SIDE = 8  # a unit of the scale model is a matrix of 8 × 8


class Setting(NamedTuple):
    """A Transformer and what trains it. units: what is gathered as one, alike blocks in each."""

    width: int = 4096
    blocks: int = 36
    units: int = 12
    tokens: int = 4096
    gpu: str = "A100 SXM 80 GB"
    ranks: int = 8

    @property
    def parameters(self) -> int:
        """Of all blocks: 12 width² each, without biases, norms and embeddings."""
        return 12 * self.width**2 * self.blocks

    @property
    def forward(self) -> float:
        """Seconds of a unit's forward: two operations for each parameter and token."""
        flops = 2.0 * self.parameters / self.units * self.tokens
        return machine(self.gpu).seconds(flops)


class Step(NamedTuple):
    """One rank's step. begin, seconds: on the clock. peak: most bytes. held: (seconds, bytes)."""

    begin: float
    seconds: float
    peak: float
    held: list[tuple[float, float]]


class _Takes(torch.autograd.Function):
    """Passes a tensor on; forward and backward take so many seconds of the rank's clock."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, comm: Any, seconds: float) -> Tensor:
        ctx.comm, ctx.seconds = comm, seconds
        comm.compute(seconds)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.comm.compute(2 * ctx.seconds)
        return gradients[0], None, None


class _Unit(nn.Module):
    def __init__(self, comm: Any, seconds: float) -> None:
        super().__init__()
        self.linear = nn.Linear(_SIDE, _SIDE, bias=False)
        self.comm, self.seconds = comm, seconds

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(_Takes.apply(self.linear(x), self.comm, self.seconds))


def steps(comm: Any, setting: Setting, scale: float, stage: int, prefetch: bool) -> Step:
    """The second of two steps of one rank; the first fills the optimizer's state."""
    units = [_Unit(comm, setting.forward) for _ in range(setting.units)]
    sharded = Sharded(nn.Sequential(*units), comm, stage=stage, mixed=True, prefetch=prefetch)
    held: list[tuple[float, float]] = []
    begin = 0.0

    def note() -> None:
        held.append((comm.time() - begin, sharded.bytes().total * scale))

    for _ in range(2):
        comm.barrier()
        sharded.peak, begin = 0, comm.time()
        held.clear()
        sharded.watch = note
        note()
        sharded.zero_grad()
        sharded(torch.ones(1, _SIDE)).float().sum().backward()
        sharded.step()
        note()
    peak = max(nbytes for _, nbytes in held)
    return Step(begin, held[-1][0], peak, list(held))


def run(
    stage: int,
    link: str = "NVLink 3",
    prefetch: bool = True,
    setting: Setting | None = None,
) -> Any:
    """Results of `steps` on every rank, with the trace. link: the name of an interconnect."""
    import helpers

    setting = setting or Setting()
    scale = setting.parameters / setting.units / _SIDE**2
    peak = next(each.bandwidth for each in INTERCONNECTS if each.name == link)
    return helpers.run(
        steps,
        setting,
        scale,
        stage,
        prefetch,
        ranks=setting.ranks,
        engine="virtual",
        latency=LATENCY,
        bandwidth=peak / scale,
    )


def last_step(results: Any) -> Trace:
    """The trace of the second step alone, from time 0."""
    begin = min(step.begin for step in results)
    events = [
        replace(event, start=max(event.start, begin) - begin, end=event.end - begin)
        for event in results.trace
        if event.end > begin
    ]
    return Trace(events, len(results), virtual=True)


def step_seconds(stage: int, link: str, prefetch: bool = True) -> float:
    """Seconds of a step of the slowest rank."""
    return max(step.seconds for step in run(stage, link, prefetch))
