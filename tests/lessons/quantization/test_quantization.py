"""Grids, packing and fixed-point multipliers: what holds for every tensor."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.quantization.algorithms.mxfp4 import mxfp4
from helpers.lessons.quantization.algorithms.quantization import (
    Grid,
    affine_grid,
    quantize,
    symmetric_grid,
    weight_grid,
)
from helpers.lessons.quantization.algorithms.requantize import Multiplier, requantize
from helpers.lessons.quantization.experiments.model_file import pack

BITS = st.integers(2, 8)
NUMBERS = st.floats(-1e6, 1e6)
SEEDS = st.integers(0, 10_000)

AT_EASE = settings(max_examples=15)


@AT_EASE
@given(NUMBERS, NUMBERS, BITS, st.integers(0, 100))
def test_an_affine_round_trip_is_off_by_half_a_step_at_most(a, b, bits, seed):
    low, high = sorted((a, b))
    ends, zero = torch.tensor([low, high], dtype=torch.float64), torch.zeros(1)
    grid = affine_grid(ends[0], ends[1], bits)
    inside = torch.rand(50, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    values = torch.cat([ends[0] + inside * (ends[1] - ends[0]), ends, zero])
    # Zero is a code exactly.
    assert grid.quantize(zero) == grid.zero_point and grid.round_trip(zero) == 0
    error = (grid.round_trip(values) - values).abs().max()
    assert error <= grid.scale / 2 * (1 + 1e-9)
    codes = grid.quantize(values)
    assert grid.lowest <= codes.min() and codes.max() <= grid.highest
    assert grid.low <= grid.scale / 2 + min(low, 0) and grid.high >= max(high, 0) - grid.scale / 2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_type_s_own_ends_stay_numbers(dtype):
    end = torch.finfo(dtype).max
    for low, high in ((-end, end), (0.0, end), (-end, 0.0)):
        ends = torch.tensor([low, high], dtype=dtype)
        grid = affine_grid(ends[0], ends[1])
        there = grid.round_trip(ends)
        assert there.isfinite().all()
        off = (there.double() / 2 - ends.double() / 2).abs().max()  # half, as all may be too much
        assert off <= grid.scale.double() / 4 * 1.01 + end * torch.finfo(dtype).eps


@AT_EASE
@given(st.floats(0, 1e6), BITS, SEEDS)
def test_a_symmetric_round_trip(bound, bits, seed):
    grid = symmetric_grid(torch.tensor(bound, dtype=torch.float64), bits)
    generator = torch.Generator().manual_seed(seed)
    values = (torch.rand(50, generator=generator, dtype=torch.float64) * 2 - 1) * bound
    assert (grid.round_trip(values) - values).abs().max() <= grid.scale / 2 * (1 + 1e-9)
    assert torch.equal(grid.quantize(-values), -grid.quantize(values))
    assert grid.zero_point == 0 and grid.quantize(torch.zeros(1)) == 0
    assert (grid.lowest, grid.highest) == (1 - 2 ** (bits - 1), 2 ** (bits - 1) - 1)


def test_a_channel_keeps_the_shared_scale_where_that_is_better():
    # Of 2 bits: the second channel lies on the first one's grid, -1, 0, 1, but for one value.
    weight = torch.tensor([[1.0, -1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.9]])
    assert weight_grid(weight, 2).scale.tolist() == [1, 1]
    weight[1] = torch.tensor([0.1, 0.1, -0.1, 0.0])
    torch.testing.assert_close(weight_grid(weight, 2).scale, torch.tensor([1, 0.1]))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: affine_grid(1.0, -1.0), "up to its high end"),
        (lambda: affine_grid(float("nan"), 1.0), "finite numbers"),
        (lambda: affine_grid(0.0, float("inf")), "finite numbers"),
        (lambda: affine_grid(0.0, 1.0, bits=1), "2 to 8 bits"),
        (lambda: affine_grid(0.0, 1.0, bits=4.0), "2 to 8 bits"),
        (lambda: symmetric_grid(-1.0), "up to its high end"),
        (lambda: weight_grid(torch.tensor([[float("inf")]])), "find it first"),
        (lambda: symmetric_grid(torch.ones(3)), "the axis"),
        (lambda: symmetric_grid(torch.ones(3), axis=0).quantize(torch.ones(4)), "for 3 channels"),
        (lambda: symmetric_grid(torch.ones(3), axis=2).quantize(torch.ones(4)), "1 dimensions"),
        (lambda: Grid(torch.ones(2), torch.zeros(3, dtype=torch.int32), axis=0), "one zero point"),
        (lambda: quantize(torch.ones(2), 0.0, 1.0, 9), "2 to 8 bits"),
        (lambda: mxfp4(torch.zeros(2, 31)), "Blocks are rows of 32 floating numbers"),
        (lambda: mxfp4(torch.zeros(32)), "Blocks are rows of 32 floating numbers"),
        *(
            (lambda r=r: Multiplier.of(torch.tensor(r)), "above 0 and below")
            for r in (0.0, -1.0, float("nan"), 2.0**30)
        ),
    ],
)
def test_what_no_grid_can_be_made_of(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()


def test_a_range_without_width_has_the_scale_one():
    for low, high in ((0.0, 0.0), (1e-44, 1e-44), (0.0, 1e-40)):
        grid = affine_grid(low, high)
        assert grid.scale == 1 and grid.round_trip(torch.zeros(3)).tolist() == [0, 0, 0]
    assert symmetric_grid(0.0).scale == 1


@AT_EASE
@given(BITS, st.lists(st.integers(0, 5), min_size=1, max_size=3), SEEDS)
def test_packed_codes_are_a_stream_of_bits(bits, shape, seed):
    half = 2 ** (bits - 1)
    generator = torch.Generator().manual_seed(seed)
    codes = torch.randint(-half, half, shape, generator=generator).to(torch.int8)
    stream = "".join(f"{code + half:0{bits}b}"[::-1] for code in codes.flatten().tolist())
    found = "".join(f"{byte:08b}"[::-1] for byte in pack(codes, bits).tolist())
    assert found == stream + "0" * (-len(stream) % 8)


@AT_EASE
@given(
    st.floats(2.0**-40, 2.0**20, exclude_min=True),
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=8),
)
def test_a_multiplier_rounds_as_exact_fractions_do(real, sums):
    multiplier = Multiplier.of(torch.tensor(real, dtype=torch.float64))
    fixed = Fraction(int(multiplier.mantissa), 2 ** int(multiplier.shift))
    if real >= 2.0**-32:
        assert abs(fixed / Fraction(real) - 1) <= Fraction(1, 2**31)
        assert 2**30 <= multiplier.mantissa < 2**31
    found = multiplier.times(torch.tensor(sums, dtype=torch.int32))
    assert found.tolist() == [round(fixed * s) for s in sums]  # ties to the even number
    if real < 2.0**-32:
        assert found.tolist() == [round(Fraction(real) * s) for s in sums]
    clamped = requantize(torch.tensor(sums, dtype=torch.int32), multiplier, affine_grid(0.0, 6.0))
    assert clamped.tolist() == [min(max(v - 128, -128), 127) for v in found.tolist()]
