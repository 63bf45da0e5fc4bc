"""Pools and ReLU on codes against the same on values."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from helpers.lessons.quantization.algorithms.integer_pools import (
    IntegerAvgPool2d,
    IntegerMaxPool2d,
    IntegerReLU,
    Quantize,
)
from helpers.lessons.quantization.algorithms.quantization import Grid, affine_grid

# A power of two, so that float64 has no rounding of its own; and a zero point that is odd.
GRID = Grid(torch.tensor(0.25), torch.tensor(-37, dtype=torch.int32))


def codes(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(-128, 128, shape, generator=generator).to(torch.int8)


def same(module: nn.Module, pool: nn.Module, given: torch.Tensor) -> None:
    expected = GRID.quantize(pool(GRID.dequantize(given, torch.float64)))
    found = module(given)
    assert found.dtype == torch.int8
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": (3, 2), "stride": 1, "padding": (1, 0)},
        {"kernel_size": 2, "stride": (1, 2), "dilation": 2},
    ],
)
@pytest.mark.parametrize("shape", [(2, 3, 6, 7), (0, 1, 4, 4)])
def test_max_pools(options, shape):
    pool = nn.MaxPool2d(**options)
    if shape[0] == 0:
        assert IntegerMaxPool2d(pool)(codes(*shape)).shape[:2] == shape[:2]
    else:
        same(IntegerMaxPool2d(pool), pool, codes(*shape))


@pytest.mark.parametrize(
    "pool",
    [
        nn.AvgPool2d(2),
        nn.AvgPool2d((2, 3), stride=1),
        nn.AdaptiveAvgPool2d(1),
        nn.AdaptiveAvgPool2d((2, 3)),
        nn.AdaptiveAvgPool2d((None, 1)),
    ],
)
def test_means_round_ties_as_a_grid_does(pool):
    for seed in range(4):
        same(IntegerAvgPool2d(pool, GRID), pool, codes(3 + seed, 2, 4, 6))


def test_a_relu_on_codes():
    same(IntegerReLU(GRID), nn.ReLU(), codes(50, 3))


def test_the_entrance():
    grid, x = affine_grid(-1.0, 2.0, bits=5), torch.randn(40)
    assert torch.equal(Quantize(grid)(x), grid.quantize(x))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: IntegerMaxPool2d(nn.MaxPool2d(2, ceil_mode=True)), "neither rounds"),
        (lambda: IntegerMaxPool2d(nn.MaxPool2d(2, return_indices=True)), "returns places"),
        (lambda: IntegerAvgPool2d(nn.AvgPool2d(2, padding=1), GRID), "without padding"),
        (
            lambda: IntegerAvgPool2d(nn.AdaptiveAvgPool2d(2), GRID)(codes(1, 1, 3, 4)),
            "cannot be cut",
        ),
    ],
)
def test_what_pools_refuse(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()
