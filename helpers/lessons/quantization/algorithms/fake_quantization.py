"""Quantization that training can see: floats that went through codes, and a gradient nonetheless.

Rounding has the gradient 0 nearly everywhere, so nothing would be learnt through it. The
straight-through estimator takes the gradient that there were without rounding: 1 where a value has
a code, 0 where it was cut off. Sources: Bengio, Léonard and Courville, "Estimating or Propagating
Gradients Through Stochastic Neurons for Conditional Computation" (2013), section 2.3; Jacob et
al. (2018), section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.calibration import MovingAverage, Observer
from helpers.lessons.quantization.algorithms.quantization import Grid, affine_grid


def fake_quantize(
    x: Tensor, scale: Tensor | float, zero_point: Tensor | int, lowest: int, highest: int
) -> Tensor:
    """The nearest values on a grid; backward, 1 inside its ends and 0 outside.

    x: any shape, floating. scale, zero_point: numbers, or tensors whose shapes meet x's (for one
    scale a channel, with 1 in the other dimensions). lowest, highest: the codes at the ends.
    Returns x's shape and type. No gradient goes to scale and zero point.
    """
    return _StraightThrough.apply(x, scale, zero_point, lowest, highest)


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, scale: Any, zero_point: Any, lowest: int, highest: int
    ) -> Tensor:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # as Grid.quantize has it
        codes = torch.round(wide / scale) + zero_point
        ctx.save_for_backward((codes >= lowest) & (codes <= highest))
        return ((codes.clamp(lowest, highest) - zero_point) * scale).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        (inside,) = ctx.saved_tensors
        return gradient * inside, None, None, None, None


def fake_round(x: Tensor, step: Tensor) -> Tensor:
    """x in whole steps, however many; backward, 1 everywhere."""
    whole = torch.round(x.detach().double() / step.double()) * step.double()
    return x + (whole.to(x.dtype) - x.detach())


Through = Callable[[Tensor, float, int, int, int], Tensor]
"""Rounds and passes gradients on, of (x, scale, zero_point, lowest, highest)."""


def on_grid(x: Tensor, grid: Grid, through: Through = fake_quantize) -> Tensor:
    """`fake_quantize` on a grid, with channels where it has them.

    through: as somebody else has written it. It is given numbers for scale and zero point: where
    channels have their own, x comes to it in steps.
    """
    scale, zero_point = grid.beside(x)
    ends = grid.lowest, grid.highest
    if not scale.dim():
        return through(x, float(scale), int(zero_point), *ends)
    steps = through(x / scale + zero_point, 1.0, 0, *ends) - zero_point
    return (steps * scale).to(x.dtype)


class FakeQuantize(nn.Module):
    """A place in a model where an activation becomes codes: in training as if, later for real.

    observer: watches what comes through in training, and names the range. bits: of the codes.
    delay: batches that are only watched first, so that ranges settle before anything is rounded
    (Jacob et al., section 3.1). through: as `on_grid` takes it. watching: watch in eval mode too.
    active: round at all.
    """

    def __init__(
        self,
        observer: Observer | None = None,
        bits: int = 8,
        delay: int = 0,
        through: Through = fake_quantize,
    ) -> None:
        super().__init__()
        self.observer = MovingAverage(bits=bits) if observer is None else observer
        self.bits, self.delay, self.through = bits, delay, through
        self.watching, self.active = False, True
        self._known: tuple[int, Grid] | None = None  # batches seen, and the grid after them

    @property
    def rounding(self) -> bool:
        """Whether values are rounded now, rather than only watched."""
        return self.active and not (self.training and self.observer.batches <= self.delay)

    def grid(self, device: torch.device | str = "cpu") -> Grid:
        """The grid of what was seen; ValueError before anything was."""
        if self._known is None or self._known[0] != self.observer.batches:
            low, high = self.observer.range()
            self._known = self.observer.batches, affine_grid(low, high, self.bits)
        return self._known[1].to(device)

    def forward(self, x: Tensor) -> Tensor:
        if self.training or self.watching:
            self.observer.see(x)
        return on_grid(x, self.grid(x.device), self.through) if self.rounding else x
