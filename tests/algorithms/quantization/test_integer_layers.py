"""Integer layers against quantized arithmetic in float64, code for code."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import conv2d, linear

from helpers.algorithms.quantization.integer_layers import (
    IntegerConv2d,
    IntegerLayer,
    IntegerLinear,
    integer_linear,
    layer_grid,
    quantize_bias,
)
from helpers.algorithms.quantization.integer_products import int_matmul
from helpers.algorithms.quantization.quantization import (
    Grid,
    affine_grid,
    symmetric_grid,
    weight_grid,
)

AT_EASE = settings(deadline=None, max_examples=40)
SEEDS = st.integers(0, 10_000)
BITS = st.sampled_from([8, 6, 4, 2])


def power(exponent: int, zero_point: int, bits: int = 8) -> Grid:
    """A grid whose scale is a power of two, so that float64 multiplies by it exactly."""
    return Grid(torch.tensor(2.0**exponent), torch.tensor(zero_point, dtype=torch.int32), bits)


def any_grid(generator: torch.Generator) -> Grid:
    low, high = (torch.rand(2, generator=generator) * 3).tolist()
    return affine_grid(-low, high)


def some_codes(grid: Grid, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    codes = torch.randint(grid.lowest, grid.highest + 1, shape, generator=generator)
    return codes.to(torch.int8)


def in_steps(layer: IntegerLayer, codes: torch.Tensor, product) -> torch.Tensor:
    """The layer's sums by float64 on whole numbers: nothing there is rounded."""
    x = codes.double() - layer.x_grid.zero_point
    return product(x, layer.codes.double(), layer.bias.double())


def on_values(layer: IntegerLayer, codes: torch.Tensor, product) -> torch.Tensor:
    """The layer by float64 on dequantized codes: what quantized float arithmetic is."""
    scale = layer.scale.double().view(-1, *[1] * (layer.codes.dim() - 1))
    bias = layer.bias.double() * layer.x_grid.scale.double() * layer.scale.double()
    x = layer.x_grid.dequantize(codes, torch.float64)
    return product(x, layer.codes.double() * scale, bias)


def close_but_for_ties(layer: IntegerLayer, codes: torch.Tensor, values: torch.Tensor) -> None:
    """The same codes as values give, except next to a tie: there the neighbour, too."""
    assert layer.y_grid is not None
    steps = values / layer.y_grid.scale.double()
    near_tie = (steps - steps.floor() - 0.5).abs() < 1e-6 * (1 + steps.abs())
    expected = layer.y_grid.quantize(values).int()
    assert torch.equal(torch.where(near_tie, expected, codes.int()), expected)
    assert not codes.numel() or (codes.int() - expected).abs().max() <= 1


@AT_EASE
@given(SEEDS, st.integers(0, 5), st.integers(1, 40), st.integers(1, 9), BITS, st.booleans())
def test_a_linear_layer_equals_float_arithmetic(seed, rows, inputs, outputs, bits, per_channel):
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    source = nn.Linear(inputs, outputs, bias=seed % 3 > 0)
    x_grid, y_grid = any_grid(generator), any_grid(generator)
    layer = IntegerLinear.of(source, x_grid, y_grid, bits, per_channel)
    codes = some_codes(x_grid, (rows, inputs), generator)
    assert torch.equal(layer.accumulate(codes).double(), in_steps(layer, codes, linear))
    close_but_for_ties(layer, layer(codes), on_values(layer, codes, linear))


@AT_EASE
@given(
    SEEDS, st.integers(0, 4), st.integers(1, 30), st.integers(-4, 4), st.integers(-128, 127), BITS
)
def test_with_powers_of_two_the_codes_are_the_very_same(
    seed, rows, inputs, exponent, zero_point, bits
):
    generator = torch.Generator().manual_seed(seed)
    source = nn.Linear(inputs, 5)
    top = 2 ** (bits - 1) - 1
    exponents = torch.arange(5).sub(2).view(5, 1)
    whole = torch.randint(-top, top + 1, (5, inputs), generator=generator).float()
    whole[:, 0] = top  # so that the largest magnitude makes the scale a power of two
    with torch.no_grad():
        source.weight.copy_(whole * 2.0**exponents)
        source.bias.copy_(torch.randint(-9, 9, (5,), generator=generator) * 2.0 ** (exponent - 2))
    layer = IntegerLinear.of(source, power(exponent, zero_point), power(2, -zero_point - 1), bits)
    codes = some_codes(layer.x_grid, (rows, inputs), generator)
    values = linear(
        layer.x_grid.dequantize(codes, torch.float64),
        layer.codes.double() * layer.scale.double().view(-1, 1),
        layer.bias.double() * layer.scale.double() * 2.0**exponent,
    )
    assert layer.y_grid is not None
    assert torch.equal(layer(codes), layer.y_grid.quantize(values))


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
@given(SEEDS, st.sampled_from(SHAPES), st.integers(0, 3), BITS, st.booleans())
def test_a_convolution_equals_float_arithmetic(seed, shape, rows, bits, per_channel):
    inputs, outputs, groups, kernel, stride, padding, dilation, height, width = shape
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    source = nn.Conv2d(
        inputs, outputs, kernel, stride, padding, dilation, groups, bias=seed % 3 > 0
    )
    x_grid, y_grid = any_grid(generator), any_grid(generator)
    layer = IntegerConv2d.of(source, x_grid, y_grid, bits, per_channel)
    codes = some_codes(x_grid, (rows, inputs, height, width), generator)

    def product(x, weight, bias):
        return conv2d(x, weight, bias, stride, padding, dilation, groups)

    assert torch.equal(layer.accumulate(codes).double(), in_steps(layer, codes, product))
    close_but_for_ties(layer, layer(codes), on_values(layer, codes, product))


@pytest.mark.parametrize("shape", SHAPES)
def test_values_go_out_where_there_is_no_grid_for_codes(shape):
    inputs, outputs, groups, kernel, stride, padding, dilation, height, width = shape
    torch.manual_seed(0)
    source = nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation, groups)
    x = torch.rand(2, inputs, height, width) - 0.3
    grid = affine_grid(float(x.min()), float(x.max()))
    found = IntegerConv2d.of(source, grid)(grid.quantize(x))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, source(x), rtol=0, atol=0.05)


def test_the_whole_of_a_linear_layer_in_one_function():
    torch.manual_seed(1)
    source, x = nn.Linear(20, 6), torch.rand(7, 20) * 2 - 0.5
    x_grid, w_grid = affine_grid(-0.5, 1.5), weight_grid(source.weight)
    codes, weight = x_grid.quantize(x), w_grid.quantize(source.weight)
    given = codes, float(x_grid.scale), int(x_grid.zero_point), weight, w_grid.scale
    found = integer_linear(*given, source.bias)
    torch.testing.assert_close(found, source(x), rtol=0, atol=0.03)
    torch.testing.assert_close(found, IntegerLinear.of(source, x_grid)(codes))
    torch.testing.assert_close(integer_linear(*given) + source.bias, found, rtol=0, atol=1e-6)


def test_a_relu_costs_nothing_where_the_grid_begins_at_zero():
    torch.manual_seed(2)
    source, x = nn.Linear(8, 8), torch.randn(30, 8)
    x_grid, y_grid = affine_grid(float(x.min()), float(x.max())), affine_grid(0.0, 2.0)
    found = y_grid.dequantize(IntegerLinear.of(source, x_grid, y_grid)(x_grid.quantize(x)))
    torch.testing.assert_close(found, source(x).relu().clamp(max=2), rtol=0, atol=0.05)


def test_more_than_two_dimensions_and_only_one():
    torch.manual_seed(3)
    layer = IntegerLinear.of(nn.Linear(4, 3), affine_grid(-1.0, 1.0))
    codes = torch.randint(-128, 128, (2, 5, 4), dtype=torch.int8)
    assert torch.equal(layer(codes), layer(codes.view(10, 4)).view(2, 5, 3))
    assert torch.equal(layer(codes[0, 0]), layer(codes)[0, 0])
    assert layer(codes[:0]).shape == (0, 5, 3)


@pytest.mark.parametrize("tiny", [0.0, 1e-12, 1e-30])
@pytest.mark.parametrize("per_channel", [True, False])
def test_the_bias_survives_a_channel_of_tiny_weights(tiny, per_channel):
    source = nn.Linear(3, 2)
    with torch.no_grad():
        source.weight.copy_(
            torch.tensor([[1.0, -1, 0.5], [1, 2, -3]]) * torch.tensor([[1], [tiny]])
        )
        source.weight.mul_(1 if per_channel else tiny)
        source.bias.copy_(torch.tensor([0.25, -0.7]))
    x = torch.rand(5, 3)
    grid = affine_grid(0.0, 1.0)
    found = IntegerLinear.of(source, grid, per_channel=per_channel)(grid.quantize(x))
    torch.testing.assert_close(found, source(x).detach(), rtol=0, atol=0.02)
    assert layer_grid(source.weight, None, grid.scale).scale.isfinite().all()


def test_saved_numbers_are_enough():
    torch.manual_seed(4)
    grids = affine_grid(-1.0, 2.0), affine_grid(-2.0, 2.0)
    first = IntegerLinear.of(nn.Linear(6, 4), *grids)
    second = IntegerLinear.of(nn.Linear(6, 4), affine_grid(0.0, 1.0), affine_grid(0.0, 9.0))
    second.load_state_dict(first.state_dict())
    codes = torch.randint(-128, 128, (9, 6), dtype=torch.int8)
    assert torch.equal(first(codes), second(codes))


def wrong_cases():
    codes = torch.zeros(2, 3, dtype=torch.int8)
    layer = IntegerLinear.of(nn.Linear(3, 2), affine_grid(0.0, 1.0))
    picture = torch.zeros(1, 1, 2, 2, dtype=torch.int8)
    return [
        (lambda: int_matmul(codes, codes.t().int()), TypeError, "int8, or uint8, by int8"),
        (lambda: int_matmul(codes, codes), ValueError, "no product"),
        (lambda: layer(torch.zeros(2, 3)), TypeError, "quantize the input first"),
        (
            lambda: IntegerConv2d.of(nn.Conv2d(1, 1, 3), affine_grid(0.0, 1.0))(picture),
            ValueError,
            "does not fit",
        ),
        (
            lambda: IntegerConv2d.of(
                nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect"), affine_grid(0.0, 1.0)
            ),
            ValueError,
            "pads with 'reflect'",
        ),
        (
            lambda: IntegerConv2d.of(nn.Conv2d(6, 6, 1, groups=3), affine_grid(0.0, 1.0))(picture),
            ValueError,
            r"takes \(rows, 6, height, width\)",
        ),
        (
            lambda: quantize_bias(torch.tensor([1.0]), torch.tensor(1e-12)),
            ValueError,
            "too many steps|more than 2\\^30",
        ),
        (
            lambda: IntegerLinear.of(nn.Linear(3, 2), affine_grid(0.0, 1.0), symmetric_grid(1e-30)),
            ValueError,
            "does not fit the sums",
        ),
    ]


@pytest.mark.parametrize(("wrong", "error", "says"), wrong_cases())
def test_what_an_integer_layer_refuses(wrong, error, says):
    with pytest.raises(error, match=says):
        wrong()


@settings(deadline=None, max_examples=200)
@given(
    st.floats(2.0**-10, 10, width=32, allow_subnormal=False),
    st.floats(2.0**-20, 10, width=32, allow_subnormal=False),
)
def test_a_bias_of_an_empty_channel_fits_whatever_the_scales(bias, x_scale):
    source = nn.Linear(3, 1)
    with torch.no_grad():
        source.weight.zero_()
        source.bias.fill_(bias)
    grid = Grid(torch.tensor(x_scale), torch.tensor(0, dtype=torch.int32))
    layer = IntegerLinear.of(source, grid)
    found = layer(torch.zeros(1, 3, dtype=torch.int8))
    assert float(found) == pytest.approx(bias, rel=1e-5)


def test_loading_into_a_layer_leaves_others_alone():
    grid, source = affine_grid(0.0, 1.0), nn.Linear(3, 2)
    one, two = IntegerLinear.of(source, grid), IntegerLinear.of(source, grid)
    other = IntegerLinear.of(nn.Linear(3, 2), affine_grid(-2.0, 3.0))
    before = two(torch.ones(1, 3, dtype=torch.int8))
    one.load_state_dict(other.state_dict())
    assert float(grid.scale) == pytest.approx(1 / 255)
    assert torch.equal(two(torch.ones(1, 3, dtype=torch.int8)), before)


def test_a_sum_with_its_correction_may_leave_32_bits_in_the_one_function():
    x = torch.full((1, 70_000), 127, dtype=torch.int8)
    found = integer_linear(x, 1.0, -128, x, torch.tensor(1.0, dtype=torch.float64))
    assert found.tolist() == [[70_000 * 255 * 127]]
    x = torch.ones(1, 140_000, dtype=torch.int8)
    with pytest.raises(ValueError, match="may leave 32 bits"):
        integer_linear(x, 1.0, 0, x, torch.tensor(1.0))


def test_sums_that_may_leave_32_bits_are_refused():
    source = nn.Linear(40_000, 1, bias=False)
    nn.init.ones_(source.weight)
    with pytest.raises(ValueError, match="use fewer bits"):
        IntegerLinear.of(source, affine_grid(0.0, 1.0))
    assert IntegerLinear.of(source, affine_grid(0.0, 1.0), bits=4)
