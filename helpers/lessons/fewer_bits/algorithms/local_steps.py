"""Less often: every rank trains alone for a while, and then their differences are averaged.

The mean of what the ranks have moved is taken for a gradient, and handed to an optimizer of its
own, the outer one. With a rate of 1 and no momentum that is the mean of the weights: the supervisor
of lesson 05. Sources: Douillard et al., "DiLoCo" (2023), algorithm 1; in parts, which travel while
the ranks train on, Douillard et al., "Streaming DiLoCo" (2025), algorithm 2.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

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
    on; `mix` is the share of a rank's own weights that is kept when it is there, 0 for none.
    reduce: a function (comm, tensor) that sums in place.
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
        mix: float = 0.0,
        reduce: Callable[..., Any] = all_reduce_ring,
    ) -> None:
        parameters = [p for p in model.parameters() if p.requires_grad]
        if not 1 <= parts <= min(interval, max(len(parameters), 1)):
            raise ValueError(
                f"{parts} parts cannot take turns in {interval} steps and {len(parameters)} "
                "parameters: each needs one of each."
            )
        if not 0 <= delay < interval or not 0 <= mix < 1:
            raise ValueError(
                f"delay={delay} is below the interval, {interval}, and mix={mix} below 1."
            )
        broadcast_parameters(model, comm)
        self.comm, self.interval, self.delay, self.mix = comm, interval, delay, mix
        outer = Sgd(0.7, momentum=0.9, nesterov=True) if outer is None else outer
        bounds = chunk_bounds(len(parameters), parts)
        self.parts = [_Part(parameters[a:b], copy.copy(outer)) for a, b in bounds]
        self.steps = 0
        self.reduce = reduce

    def step(self) -> None:
        """Count a step; start a part's sum where it is its turn, and take in what is there."""
        self.steps += 1
        for number, part in enumerate(self.parts):
            turn = (number + 1) * self.interval // len(self.parts)  # the last part's is the last
            if (self.steps - turn) % self.interval == 0 and self.steps >= turn:
                part.begin(self.comm, self.reduce, self.steps)
            if part.request is not None and self.steps - part.begun >= self.delay:
                part.take_in(self.mix)

    def finish(self) -> None:
        """Sum what has moved since its turn; every rank ends with equal weights."""
        for part in self.parts:
            # A sum of this very step is all there is, unless ranks have kept a share of their own.
            last = part.begun == self.steps and (part.request is not None or not self.mix)
            if part.request is not None:
                part.take_in(0.0 if last else self.mix)
            if not last:
                part.begin(self.comm, self.reduce, self.steps)
                part.take_in(0.0)


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

    def begin(self, comm: Comm, reduce: Callable[..., Any], step: int) -> None:
        """Sum what the ranks have moved, 1/N of each, in the background."""
        torch.sub(self.common, self._now(), out=self.moved).div_(comm.size)  # where it was before
        self.begun, self.request = step, comm.background(reduce, self.moved)

    def take_in(self, mix: float) -> None:
        """Wait, let the outer optimizer step, and take over the common weights."""
        assert self.request is not None
        self.request.wait()
        self.request = None
        self.common = self.outer.step(self.common, self.moved.clone(), self.version)
        self.version += 1
        with torch.no_grad():
            for parameter, new in self._split():
                parameter.mul_(mix).add_(new, alpha=1 - mix) if mix else parameter.copy_(new)

    def _split(self) -> Iterator[tuple[nn.Parameter, Tensor]]:
        sizes = [p.numel() for p in self.parameters]
        for parameter, new in zip(self.parameters, self.common.split(sizes), strict=True):
            yield parameter, new.view(parameter.shape)
