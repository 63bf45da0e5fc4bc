"""Pooling and ReLU on codes: what comes out is codes of the same grid."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.quantization import Grid
from helpers.lessons.quantization.algorithms.windows import Sliding, pair


class Quantize(nn.Module):
    """Where floats become codes: the entrance of an integer model."""

    scale: Tensor
    zero_point: Tensor

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        self.bits, self.signed, self.grid_bits = grid.bits, grid.signed, {"y": grid.bits}
        self.register_buffer("scale", grid.scale.clone())
        self.register_buffer("zero_point", grid.zero_point.clone())

    def forward(self, x: Tensor) -> Tensor:
        return Grid(self.scale, self.zero_point, self.bits, self.signed).quantize(x)


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


def check_average(pool: nn.Module) -> None:
    """ValueError where an average has no form on codes."""
    if isinstance(pool, nn.AvgPool2d) and (
        pool.ceil_mode or pool.divisor_override or any(pair(pool.padding))
    ):
        raise ValueError("An average on codes takes a pool without padding, ceil_mode and divisor.")


class IntegerAvgPool2d(nn.Module):
    """The mean of each window, on the grid that the codes are of, ties to the even step.

    pool: an nn.AvgPool2d without padding, or an nn.AdaptiveAvgPool2d whose windows are all of one
    size, as when only one result is asked for.
    """

    zero_point: Tensor

    def __init__(self, pool: nn.Module, grid: Grid) -> None:
        super().__init__()
        self.pool = pool
        self.register_buffer("zero_point", grid.zero_point.clone())
        check_average(pool)

    def _sliding(self, height: int, width: int) -> Sliding:
        pool: Any = self.pool
        if isinstance(pool, nn.AvgPool2d):
            return Sliding(pair(pool.kernel_size), pair(pool.stride))
        wanted = [
            w or size for w, size in zip(pair(pool.output_size), (height, width), strict=True)
        ]
        if height % wanted[0] or width % wanted[1]:
            raise ValueError(
                f"A picture of {height} × {width} cannot be cut into {wanted[0]} × {wanted[1]} "
                "windows of one size: choose an output size that divides it."
            )
        kernel = height // wanted[0], width // wanted[1]
        return Sliding(kernel, kernel)

    def forward(self, codes: Tensor) -> Tensor:
        sliding = self._sliding(*codes.shape[-2:])
        count = sliding.kernel[0] * sliding.kernel[1]
        sums = sliding.windows(codes, 0).sum((-2, -1), dtype=torch.int32) - count * self.zero_point
        whole = sums.div(count, rounding_mode="floor")
        rest = 2 * (sums - whole * count)  # what the division left over, twice
        up = (rest > count) | ((rest == count) & (whole % 2 != 0))
        return (whole + up + self.zero_point).to(codes.dtype)
