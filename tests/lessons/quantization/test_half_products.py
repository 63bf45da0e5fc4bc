"""Codes that meet bfloat16 rows: the product that reads codes, and the layer on it."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from helpers.lessons.quantization.algorithms.half_products import WHOLE, rows_by_codes
from helpers.lessons.quantization.algorithms.weight_only import WeightOnly

ROUNDING = 2**-8  # of bfloat16


def exact(x: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    return x.double() @ codes.double().t()


@given(
    rows=st.integers(0, 5),
    out=st.integers(1, 9),
    columns=st.sampled_from([1, 7, 40, WHOLE, WHOLE + 1, 3 * WHOLE]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=20, deadline=None)
def test_products_are_those_of_floats_to_bfloat16s_rounding(rows, out, columns, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, columns, generator=generator).bfloat16()
    codes = torch.randint(-128, 128, (out, columns), generator=generator, dtype=torch.int8)
    found = rows_by_codes(x, codes)
    assert found.shape == (rows, out) and found.dtype == torch.bfloat16
    most = (x.double().abs() @ codes.double().abs().t()) if rows else exact(x, codes)
    assert ((found.double() - exact(x, codes)).abs() <= 2 * ROUNDING * most + 1e-9).all()


@pytest.mark.parametrize(
    ("shape", "bias", "per_channel"),
    [((5, WHOLE), True, True), ((WHOLE,), False, True), ((2, 3, WHOLE + 1), True, False)],
)
def test_a_linear_layer(shape, bias, per_channel):
    torch.manual_seed(0)
    linear = nn.Linear(shape[-1], 4, bias=bias)
    x = torch.randn(shape)
    held = WeightOnly.of(linear, per_channel=per_channel, compute=torch.bfloat16)
    plain = WeightOnly.of(linear, per_channel=per_channel)
    assert held(x).dtype == torch.float32 and held(x).shape == plain(x).shape
    torch.testing.assert_close(held(x), plain(x), rtol=0.02, atol=0.02)
    assert torch.equal(copy.deepcopy(held)(x), held(x))


def test_other_types_are_refused():
    with pytest.raises(ValueError, match="bfloat16, or None"):
        WeightOnly.of(nn.Linear(2, 2), compute=torch.float16)
