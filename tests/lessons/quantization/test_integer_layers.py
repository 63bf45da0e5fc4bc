"""Layers, pools and ReLU on codes against quantized arithmetic in float64, code for code."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import conv2d, linear

from helpers.lessons.quantization.algorithms.integer_layers import (
    IntegerConv2d,
    IntegerLayer,
    IntegerLinear,
    layer_grid,
    quantize_bias,
)
from helpers.lessons.quantization.algorithms.integer_pools import (
    IntegerAvgPool2d,
    IntegerMaxPool2d,
    IntegerReLU,
)
from helpers.lessons.quantization.algorithms.quantization import (
    Grid,
    affine_grid,
    symmetric_grid,
)


def any_grid(generator: torch.Generator) -> Grid:
    low, high = (torch.rand(2, generator=generator) * 3).tolist()
    return affine_grid(-low, high)


def some_codes(grid: Grid, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    codes = torch.randint(grid.lowest, grid.highest + 1, shape, generator=generator)
    return codes.to(torch.int8)


SHAPES = [  # of the input but for its rows; the layer
    ((40,), lambda bias: nn.Linear(40, 9, bias)),
    ((1,), lambda bias: nn.Linear(1, 1, bias)),
    ((4, 8, 5), lambda bias: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), groups=2, bias=bias)),
    ((6, 9, 9), lambda bias: nn.Conv2d(6, 6, 3, 2, 1, groups=6, bias=bias)),
    ((2, 6, 7), lambda bias: nn.Conv2d(2, 4, 3, padding=2, dilation=2, bias=bias)),
    ((3, 5, 5), lambda bias: nn.Conv2d(3, 2, 2, 3, bias=bias)),
    ((2, 5, 4), lambda bias: nn.Conv2d(2, 3, 3, padding="same", bias=bias)),
]


@settings(max_examples=30)
@given(st.integers(0, 9999), st.sampled_from(SHAPES), st.integers(0, 3), st.sampled_from([8, 4, 2]))
def test_a_layer_equals_float_arithmetic(seed, which, rows, bits):
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    shape, make = which
    source = make(seed % 3 > 0)
    x_grid, y_grid = any_grid(generator), any_grid(generator)
    kind = IntegerLinear if isinstance(source, nn.Linear) else IntegerConv2d
    layer = kind(source, x_grid, y_grid, bits)
    codes = some_codes(x_grid, (rows, *shape), generator)

    def product(x, weight, bias):
        if isinstance(source, nn.Linear):
            return linear(x, weight, bias)
        how = source.stride, source.padding, source.dilation, source.groups
        return conv2d(x, weight, bias, *how)

    # The sums by float64 on whole numbers, where nothing is rounded; then by dequantized codes.
    whole = product(codes.double() - x_grid.zero_point, layer.codes.double(), layer.bias.double())
    assert torch.equal(layer.accumulate(codes).double(), whole)
    scale = layer.scale.double().view(-1, *[1] * (layer.codes.dim() - 1))
    bias = layer.bias.double() * x_grid.scale.double() * layer.scale.double()
    x = x_grid.dequantize(codes, torch.float64)
    values = product(x, layer.codes.double() * scale, bias)
    found, expected = layer(codes).int(), y_grid.quantize(values).int()
    # The same codes as the values give, except next to a tie: there the neighbour, too.
    steps = values / y_grid.scale.double()
    near_tie = (steps - steps.floor() - 0.5).abs() < 1e-6 * (1 + steps.abs())
    assert torch.equal(torch.where(near_tie, expected, found), expected)
    assert not found.numel() or (found - expected).abs().max() <= 1


@pytest.mark.parametrize("tiny", [0.0, 1e-12, 1e-30])
def test_the_bias_survives_a_channel_of_tiny_weights(tiny):
    source = nn.Linear(3, 2)
    with torch.no_grad():
        source.weight.copy_(torch.tensor([[1.0, -1, 0.5], [1, 2, -3]]))
        source.weight[1] *= tiny
        source.bias.copy_(torch.tensor([0.25, -0.7]))
    x = torch.rand(5, 3)
    grid = affine_grid(0.0, 1.0)
    found = IntegerLinear(source, grid)(grid.quantize(x))
    torch.testing.assert_close(found, source(x).detach(), rtol=0, atol=0.02)
    assert layer_grid(source.weight, None, grid.scale).scale.isfinite().all()


def test_saved_numbers_are_enough():
    torch.manual_seed(4)
    grids = affine_grid(-1.0, 2.0), affine_grid(-2.0, 2.0)
    first = IntegerLinear(nn.Linear(6, 4), *grids)
    second = IntegerLinear(nn.Linear(6, 4), affine_grid(0.0, 1.0), affine_grid(0.0, 9.0))
    second.load_state_dict(first.state_dict())
    codes = torch.randint(-128, 128, (9, 6), dtype=torch.int8)
    assert torch.equal(first(codes), second(codes))


# A power of two, so that float64 has no rounding of its own; and a zero point that is odd.
GRID = Grid(torch.tensor(0.25), torch.tensor(-37, dtype=torch.int32))


def codes(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(-128, 128, shape, generator=generator).to(torch.int8)


@pytest.mark.parametrize(
    "pool",
    [
        nn.MaxPool2d(2),
        nn.MaxPool2d((3, 2), stride=1, padding=(1, 0)),
        nn.MaxPool2d(2, stride=(1, 2), dilation=2),
        nn.AvgPool2d(2),
        nn.AvgPool2d((2, 3), stride=1),
        nn.ReLU(),
    ],
)
def test_pools_round_ties_as_a_grid_does(pool):
    made = {
        nn.MaxPool2d: lambda: IntegerMaxPool2d(pool),
        nn.AvgPool2d: lambda: IntegerAvgPool2d(pool, GRID),
        nn.ReLU: lambda: IntegerReLU(GRID),
    }[type(pool)]()
    for seed in range(4):
        given = codes(3 + seed, 2, 6, 7)
        expected = GRID.quantize(pool(GRID.dequantize(given, torch.float64)))
        found = made(given)
        assert found.dtype == torch.int8 and torch.equal(found, expected)


def of(linear: nn.Module, y_grid: Grid | None = None) -> IntegerLayer:
    kind = IntegerLinear if isinstance(linear, nn.Linear) else IntegerConv2d
    return kind(linear, affine_grid(0.0, 1.0), y_grid)


PICTURE = torch.zeros(1, 1, 2, 2, dtype=torch.int8)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: of(nn.Linear(3, 2))(torch.zeros(2, 3)), "quantize the input first"),
        (lambda: of(nn.Conv2d(1, 1, 3))(PICTURE), "does not fit"),
        (lambda: of(nn.Conv2d(1, 1, 3, padding_mode="reflect")), "pads with 'reflect'"),
        (lambda: of(nn.Conv2d(6, 6, 1, groups=3))(PICTURE), r"takes \(rows, 6, height, width\)"),
        (lambda: quantize_bias(torch.tensor([1.0]), torch.tensor(1e-12)), "more than 2\\^30"),
        (lambda: of(nn.Linear(3, 2), symmetric_grid(1e-30)), "does not fit the sums"),
        (lambda: of(nn.Linear(400_000, 1)), "use fewer bits"),
        (lambda: IntegerMaxPool2d(nn.MaxPool2d(2, ceil_mode=True)), "neither rounds"),
        (lambda: IntegerAvgPool2d(nn.AvgPool2d(2, padding=1), GRID), "without padding"),
    ],
)
def test_what_layers_on_codes_refuse(wrong, says):
    with pytest.raises((TypeError, ValueError), match=says):
        wrong()
