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
    integer_linear,
    layer_grid,
    quantize_bias,
)
from helpers.lessons.quantization.algorithms.integer_pools import (
    IntegerAvgPool2d,
    IntegerMaxPool2d,
    IntegerReLU,
    Quantize,
)
from helpers.lessons.quantization.algorithms.quantization import (
    Grid,
    affine_grid,
    symmetric_grid,
    weight_grid,
)

AT_EASE = settings(deadline=None, max_examples=15)
SEEDS = st.integers(0, 10_000)
BITS = st.sampled_from([8, 6, 4, 2])


def any_grid(generator: torch.Generator) -> Grid:
    low, high = (torch.rand(2, generator=generator) * 3).tolist()
    return affine_grid(-low, high)


def some_codes(grid: Grid, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    codes = torch.randint(grid.lowest, grid.highest + 1, shape, generator=generator)
    return codes.to(torch.int8)


def in_steps(layer: IntegerLayer, codes: torch.Tensor, product) -> torch.Tensor:
    """The layer's sums by float64 on whole numbers: nothing there is rounded."""
    x = codes.double() - layer.x.grid.zero_point
    return product(x, layer.codes.double(), layer.bias.double())


def on_values(layer: IntegerLayer, codes: torch.Tensor, product) -> torch.Tensor:
    """The layer by float64 on dequantized codes: what quantized float arithmetic is."""
    scale = layer.scale.double().view(-1, *[1] * (layer.codes.dim() - 1))
    bias = layer.bias.double() * layer.x.grid.scale.double() * layer.scale.double()
    x = layer.x.grid.dequantize(codes, torch.float64)
    return product(x, layer.codes.double() * scale, bias)


def close_but_for_ties(layer: IntegerLayer, codes: torch.Tensor, values: torch.Tensor) -> None:
    """The same codes as values give, except next to a tie: there the neighbour, too."""
    assert layer.y is not None
    steps = values / layer.y.grid.scale.double()
    near_tie = (steps - steps.floor() - 0.5).abs() < 1e-6 * (1 + steps.abs())
    expected = layer.y.grid.quantize(values).int()
    assert torch.equal(torch.where(near_tie, expected, codes.int()), expected)
    assert not codes.numel() or (codes.int() - expected).abs().max() <= 1


@AT_EASE
@given(SEEDS, st.integers(0, 5), st.integers(1, 40), st.integers(1, 9), BITS)
def test_a_linear_layer_equals_float_arithmetic(seed, rows, inputs, outputs, bits):
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    source = nn.Linear(inputs, outputs, bias=seed % 3 > 0)
    x_grid, y_grid = any_grid(generator), any_grid(generator)
    layer = IntegerLinear(source, x_grid, y_grid, bits)
    codes = some_codes(x_grid, (rows, inputs), generator)
    assert torch.equal(layer.accumulate(codes).double(), in_steps(layer, codes, linear))
    close_but_for_ties(layer, layer(codes), on_values(layer, codes, linear))


SHAPES = [
    # channels in, channels out, groups, kernel, stride, padding, dilation, height, width
    (1, 1, 1, 1, 1, 0, 1, 1, 1),
    (3, 5, 1, 3, 1, 1, 1, 7, 6),
    (4, 6, 2, (3, 2), (2, 1), (1, 0), 1, 8, 5),
    (6, 6, 6, 3, 2, 1, 1, 9, 9),
    (3, 9, 3, 3, 1, 2, 1, 4, 4),
    (2, 4, 1, 3, 1, 2, 2, 6, 7),
    (3, 2, 1, 2, 3, 0, 1, 5, 5),
    (2, 3, 1, 3, 1, "same", 1, 5, 4),
]


@AT_EASE
@given(SEEDS, st.sampled_from(SHAPES), st.integers(0, 3), BITS)
def test_a_convolution_equals_float_arithmetic(seed, shape, rows, bits):
    inputs, outputs, groups, kernel, stride, padding, dilation, height, width = shape
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    source = nn.Conv2d(
        inputs, outputs, kernel, stride, padding, dilation, groups, bias=seed % 3 > 0
    )
    x_grid, y_grid = any_grid(generator), any_grid(generator)
    layer = IntegerConv2d(source, x_grid, y_grid, bits)
    codes = some_codes(x_grid, (rows, inputs, height, width), generator)

    def product(x, weight, bias):
        return conv2d(x, weight, bias, stride, padding, dilation, groups)

    assert torch.equal(layer.accumulate(codes).double(), in_steps(layer, codes, product))
    close_but_for_ties(layer, layer(codes), on_values(layer, codes, product))


def test_the_whole_of_a_linear_layer_in_one_function():
    torch.manual_seed(1)
    source, x = nn.Linear(20, 6), torch.rand(7, 20) * 2 - 0.5
    x_grid, w_grid = affine_grid(-0.5, 1.5), weight_grid(source.weight)
    codes, weight = x_grid.quantize(x), w_grid.quantize(source.weight)
    given = codes, float(x_grid.scale), int(x_grid.zero_point), weight, w_grid.scale
    found = integer_linear(*given, source.bias)
    torch.testing.assert_close(found, source(x), rtol=0, atol=0.03)
    torch.testing.assert_close(found, IntegerLinear(source, x_grid)(codes))
    torch.testing.assert_close(integer_linear(*given) + source.bias, found, rtol=0, atol=1e-6)


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
def test_max_pools(options):
    pool = nn.MaxPool2d(**options)
    same(IntegerMaxPool2d(pool), pool, codes(2, 3, 6, 7))


@pytest.mark.parametrize("pool", [nn.AvgPool2d(2), nn.AvgPool2d((2, 3), stride=1)])
def test_means_round_ties_as_a_grid_does(pool):
    for seed in range(4):
        same(IntegerAvgPool2d(pool, GRID), pool, codes(3 + seed, 2, 4, 6))


def test_the_entrance_and_a_relu():
    same(IntegerReLU(GRID), nn.ReLU(), codes(50, 3))
    grid, x = affine_grid(-1.0, 2.0, bits=5), torch.randn(40)
    assert torch.equal(Quantize(grid)(x), grid.quantize(x))


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
        (lambda: IntegerMaxPool2d(nn.MaxPool2d(2, ceil_mode=True)), "neither rounds"),
        (lambda: IntegerAvgPool2d(nn.AvgPool2d(2, padding=1), GRID), "without padding"),
    ],
)
def test_what_layers_on_codes_refuse(wrong, says):
    with pytest.raises((TypeError, ValueError), match=says):
        wrong()


def test_sums_that_may_leave_32_bits_are_refused():
    source = nn.Linear(40_000, 1, bias=False)
    nn.init.ones_(source.weight)
    with pytest.raises(ValueError, match="use fewer bits"):
        IntegerLinear(source, affine_grid(0.0, 1.0))
    assert IntegerLinear(source, affine_grid(0.0, 1.0), bits=4)
