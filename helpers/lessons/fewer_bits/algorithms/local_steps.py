"""Less often: every rank trains alone for a while, and then their differences are averaged.

The mean of what the ranks have moved is taken for a gradient, and handed to an optimizer of its
own, the outer one. With a rate of 1 and no momentum that is the mean of the weights: the supervisor
of lesson 05. Sources: Douillard et al., "DiLoCo" (2023), algorithm 1; in parts, which travel while
the ranks train on, Douillard et al., "Streaming DiLoCo" (2025), algorithm 2.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from helpers.engine.servers.rule import Optimizer
from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, chunk_bounds
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd

if TYPE_CHECKING:
    from helpers.engine.comm import Comm, Request


class LocalSteps:
    """A model that trains alone, and meets the other ranks' every `interval` steps.

        training = LocalSteps(model, comm, interval=50)
        loss.backward()
        optimizer.step()                # the inner one, such as AdamW, of this rank alone
        training.step()                 # sums, where it is time

    outer: makes new weights of the common old ones and of what the ranks moved on average;
    Nesterov momentum at first, as in DiLoCo, `Sgd(1.0)` for plain averages. A copy is taken for
    each part.
    parts: 1, or so many groups of parameters, each of which is summed every `interval` steps, in
    turn, so that no sum is larger than a part. delay: steps that a sum may take while training goes
    on.
    The inner optimizer keeps its state: it never learns of the sums.
    """

    def __init__(
        self,
        model: nn.Module,
        comm: Comm,
        interval: int,
        outer: Optimizer | None = None,
        *,
        parts: int = 1,
        delay: int = 0,
    ) -> None:
        parameters = [p for p in model.parameters() if p.requires_grad]
        if not 1 <= parts <= min(interval, max(len(parameters), 1)):
            raise ValueError(
                f"{parts} parts cannot take turns in {interval} steps and {len(parameters)} "
                "parameters: each needs one of each."
            )
        if not 0 <= delay < interval:
            raise ValueError(f"delay={delay} is below the interval, {interval}.")
        broadcast_parameters(model, comm)
        self.comm, self.interval, self.delay = comm, interval, delay
        outer = Sgd(0.7, momentum=0.9, nesterov=True) if outer is None else outer
        bounds = chunk_bounds(len(parameters), parts)
        self.parts = [_Part(parameters[a:b], copy.copy(outer)) for a, b in bounds]
        self.steps = 0

    def step(self) -> None:
        """Count a step; start a part's sum where it is its turn, and take in what is there."""
        self.steps += 1
        for number, part in enumerate(self.parts):
            turn = (number + 1) * self.interval // len(self.parts)  # the last part's is the last
            if (self.steps - turn) % self.interval == 0 and self.steps >= turn:
                part.begin(self.comm, self.steps)
            if part.request is not None and self.steps - part.begun >= self.delay:
                part.take_in()

    def finish(self) -> None:
        """Sum what has moved since its turn; every rank ends with equal weights."""
        for part in self.parts:
            if part.request is not None:
                part.take_in()
            if part.begun != self.steps:
                part.begin(self.comm, self.steps)
                part.take_in()


class _Part:
    """Some parameters: their common weights, flat, and the sum that is under way."""

    def __init__(self, parameters: list[nn.Parameter], outer: Optimizer) -> None:
        self.parameters, self.outer = parameters, outer
        self.common = self._now()
        self.version, self.begun = 0, 0  # begun: the step of the last sum
        self.moved = torch.zeros_like(self.common)
        self.request: Request | None = None

    def _now(self) -> Tensor:
        if not self.parameters:
            return torch.zeros(0)
        return torch.cat([p.detach().reshape(-1) for p in self.parameters])

    def begin(self, comm: Comm, step: int) -> None:
        """Sum what the ranks have moved, 1/N of each, in the background."""
        torch.sub(self.common, self._now(), out=self.moved).div_(comm.size)  # where it was before
        self.begun, self.request = step, comm.background(all_reduce_ring, self.moved)

    def take_in(self) -> None:
        """Wait, let the outer optimizer step, and take over the common weights."""
        assert self.request is not None
        self.request.wait()
        self.request = None
        self.common = self.outer.step(self.common, self.moved.clone(), self.version)
        self.version += 1
        sizes = [p.numel() for p in self.parameters]
        with torch.no_grad():
            for parameter, new in zip(self.parameters, self.common.split(sizes), strict=True):
                parameter.copy_(new.view(parameter.shape))
