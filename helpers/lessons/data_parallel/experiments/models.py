"""Small models: one that learns the digits in seconds, a wide one that is slow to send, timed ones.

On the virtual clock torch's own work costs nothing; the layers of timed ones say what it would
have cost, so that a step can be drawn exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


def mlp(
    widths: Sequence[int] = (PIXELS, 128, 64, CLASSES),
    dtype: torch.dtype = torch.float32,
    seed: int | None = 0,
) -> nn.Sequential:
    """Linear layers with ReLU between them; (rows, widths[0]) to (rows, widths[-1]).

    seed: of the initial weights, without touching torch's own generator. None takes that
    generator as it is, so that ranks that are seeded differently start differently.
    """
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        for inputs, outputs in pairwise(widths):
            layers += [nn.Linear(inputs, outputs, dtype=dtype), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def wide_mlp(width: int = 1024, hidden: int = 8) -> nn.Sequential:
    """A network with `hidden` square layers: few operations for many bytes of gradients.

    The default has 8.5 million parameters, 34 MB of gradients in float32.
    """
    return mlp((PIXELS, *[width] * (hidden + 1), CLASSES))


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


def timed_mlp(comm: Comm, layers: int, width: int) -> nn.Sequential:
    """`layers` square layers without bias, width² parameters each, the same on every rank.

    Each takes 1 ms forward and 2 ms backward.
    """
    torch.manual_seed(0)
    square = [nn.Linear(width, width, bias=False) for _ in range(layers)]
    return nn.Sequential(*(Timed(layer, comm, 1e-3, 2e-3) for layer in square))
