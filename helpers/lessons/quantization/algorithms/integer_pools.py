"""Pooling and ReLU on codes: what comes out is codes of the same grid."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.quantization import Grid
from helpers.lessons.quantization.algorithms.windows import Sliding, pair


class Held(nn.Module):
    """A grid whose numbers are buffers, so that they move and are saved with a model.

    They are copies: what is loaded here does not change another one.
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        self._like = grid
        self.register_buffer("scale", grid.scale.clone())
        self.register_buffer("zero_point", grid.zero_point.clone())

    @property
    def grid(self) -> Grid:
        """The grid, with its numbers as they are now."""
        return replace(self._like, scale=self.scale, zero_point=self.zero_point)


class Quantize(Held):
    """Where floats become codes: the entrance of an integer model."""

    def forward(self, x: Tensor) -> Tensor:
        return self.grid.quantize(x)


class IntegerReLU(nn.Module):
    """Codes below the zero point become it. (A ReLU right behind a layer needs no module.)"""

    zero_point: Tensor

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        self.register_buffer("zero_point", grid.zero_point.to(grid.dtype).clone())

    def forward(self, codes: Tensor) -> Tensor:
        return torch.maximum(codes, self.zero_point)


class IntegerMaxPool2d(nn.Module):
    """The largest code of each window stands for its largest value."""

    def __init__(self, pool: nn.MaxPool2d) -> None:
        super().__init__()
        if pool.ceil_mode or pool.return_indices:
            raise ValueError("A pool on codes neither rounds its size up nor returns places.")
        down, right = pair(pool.padding)
        around = right, right, down, down
        size, stride, dilation = (pair(s) for s in (pool.kernel_size, pool.stride, pool.dilation))
        self.sliding = Sliding(size, stride, dilation, around)

    def forward(self, codes: Tensor) -> Tensor:
        lowest = torch.iinfo(codes.dtype).min
        return self.sliding.windows(codes, lowest).amax((-2, -1))


class IntegerAvgPool2d(nn.Module):
    """The mean of each window, on the grid that the codes are of, ties to the even step."""

    zero_point: Tensor

    def __init__(self, pool: nn.AvgPool2d, grid: Grid) -> None:
        super().__init__()
        check_average(pool)
        self.sliding = Sliding(pair(pool.kernel_size), pair(pool.stride))
        self.register_buffer("zero_point", grid.zero_point.clone())

    def forward(self, codes: Tensor) -> Tensor:
        count = self.sliding.kernel[0] * self.sliding.kernel[1]
        sums = self.sliding.windows(codes, 0).sum((-2, -1), dtype=torch.int32)
        sums = sums - count * self.zero_point
        whole = sums.div(count, rounding_mode="floor")
        rest = 2 * (sums - whole * count)  # what the division left over, twice
        up = (rest > count) | ((rest == count) & (whole % 2 != 0))
        return (whole + up + self.zero_point).to(codes.dtype)


def check_average(pool: nn.AvgPool2d) -> None:
    """ValueError where an average has no form on codes."""
    if pool.ceil_mode or pool.divisor_override or any(pair(pool.padding)):
        raise ValueError("An average on codes takes a pool without padding, ceil_mode and divisor.")
