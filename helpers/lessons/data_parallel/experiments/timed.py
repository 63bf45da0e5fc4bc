"""Layers that take a given time on a rank's clock, so that a step can be drawn exactly.

On the virtual clock torch's own work costs nothing; these layers say what it would have cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


class TakesTime(torch.autograd.Function):
    """Passes everything through; its backward takes so many seconds of the rank's clock."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, comm: Comm, seconds: float) -> Tensor:
        ctx.comm, ctx.seconds = comm, seconds
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.comm.compute(ctx.seconds)
        return gradients[0], None, None


class Timed(nn.Module):
    """A layer whose forward and backward take so many seconds on the rank's clock.

    Its gradients are there when its backward's time is over, not before. The input must need
    a gradient or the layer must have parameters, as in any training step.
    """

    def __init__(self, layer: nn.Module, comm: Comm, forward: float, backward: float) -> None:
        super().__init__()
        self.layer = layer
        self._comm, self._forward, self._backward = comm, forward, backward

    def forward(self, inputs: Tensor) -> Tensor:
        """The layer's output, so many seconds later."""
        self._comm.compute(self._forward)
        out: Tensor = TakesTime.apply(self.layer(inputs), self._comm, self._backward)
        return out


def timed_mlp(
    comm: Comm, layers: int, width: int, forward: float = 1e-3, backward: float = 2e-3
) -> nn.Sequential:
    """`layers` square layers without bias, width² parameters each, that take so long each.

    forward, backward: seconds a layer. Every rank has the same weights.
    """
    torch.manual_seed(0)
    return nn.Sequential(
        *(
            Timed(nn.Linear(width, width, bias=False), comm, forward, backward)
            for _ in range(layers)
        )
    )
