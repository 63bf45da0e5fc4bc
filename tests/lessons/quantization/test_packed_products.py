"""Products with a packed weight: exact for 7-bit inputs, and a layer on them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import linear

from helpers.lessons.quantization.algorithms.dynamic_layers import DynamicLinear, whole_rows
from helpers.lessons.quantization.algorithms.integer_products import int_matmul
from helpers.lessons.quantization.algorithms.packed_products import LONGEST, pack, takes_seven_bits

AT_EASE = settings(deadline=None, max_examples=15)
needs_it = pytest.mark.skipif(
    not takes_seven_bits(),
    reason="this processor has quick products of 8 bits, or no FBGEMM: nothing is packed here",
)


def random_codes(*shape: int, bits: int = 8, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    ends = -(2 ** (bits - 1)), 2 ** (bits - 1)
    return torch.randint(*ends, shape, generator=generator).to(torch.int8)


ONE = torch.tensor(1.0)


@needs_it
@AT_EASE
@given(st.integers(0, 10_000), st.integers(0, 40), st.integers(1, 70), st.integers(1, 40))
def test_products_with_a_packed_weight_are_exact(seed, rows, depth, channels):
    x = random_codes(rows, depth, bits=7, seed=seed)
    weight = random_codes(channels, depth, seed=seed + 1)
    packed = pack(weight, ONE)
    assert packed is not None
    sums = int_matmul(x, weight.t())
    assert torch.equal(packed.products(x.float()), sums.float())
    turned = pack(weight.t().contiguous().t(), ONE)
    assert turned is not None and torch.equal(turned.products(x.float()), sums.float())
    scale = torch.rand(channels)
    scaled = pack(weight, scale)
    assert scaled is not None and torch.equal(scaled.products(x.float()), sums.float() * scale)


@needs_it
@pytest.mark.parametrize(("left", "right"), [(-64, -128), (63, 127)])
def test_the_largest_sums_are_exact_and_longer_ones_are_not_packed(left, right):
    packed = pack(torch.full((3, LONGEST), right, dtype=torch.int8), ONE)
    assert packed is not None
    found = packed.products(torch.full((2, LONGEST), float(left)))
    assert torch.equal(found, torch.full((2, 3), float(left * right * LONGEST)))
    assert pack(torch.zeros(1, LONGEST + 1, dtype=torch.int8), ONE) is None
    assert pack(torch.zeros(0, 4, dtype=torch.int8), ONE) is None


@pytest.mark.parametrize("lacks", ["vnni", "fbgemm", "operation"])
def test_nothing_is_packed_where_it_wins_nothing_or_cannot_be(lacks, monkeypatch):
    if lacks == "vnni":
        monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: True)
    elif lacks == "fbgemm":
        monkeypatch.setattr(torch.backends, "quantized", SimpleNamespace(supported_engines=[]))
    else:
        monkeypatch.delattr(torch, "_make_per_channel_quantized_tensor")
    takes_seven_bits.cache_clear()
    try:
        assert pack(random_codes(4, 4), ONE) is None
    finally:
        takes_seven_bits.cache_clear()


@needs_it
@AT_EASE
@given(st.integers(0, 1000), st.integers(0, 6), st.integers(1, 40), st.sampled_from([8, 4, 2]))
def test_a_layer_is_float_arithmetic_on_codes_of_7_bits(seed, rows, width, bits):
    torch.manual_seed(seed)
    source = nn.Linear(width, 5, bias=seed % 2 > 0)
    layer, x = DynamicLinear.of(source, bits, per_channel=seed % 3 > 0), torch.randn(rows, width)
    assert layer.packed is not None
    codes, scale = whole_rows(x, 63)
    assert not rows or codes.abs().max() <= 63
    weight = layer.codes * (layer.scale.view(-1, 1) if layer.scale.dim() else layer.scale)
    expected = linear((codes * scale).double(), weight.double())
    expected += 0 if source.bias is None else source.bias.detach().double()
    torch.testing.assert_close(layer(x).double(), expected, rtol=1e-5, atol=1e-5)
