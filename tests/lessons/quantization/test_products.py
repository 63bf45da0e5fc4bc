"""Products of 8-bit matrices: by the instruction, without, packed, with bfloat16 rows."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import linear

from helpers.lessons.quantization.algorithms import integer_products
from helpers.lessons.quantization.algorithms.dynamic_layers import DynamicLinear, whole_rows
from helpers.lessons.quantization.algorithms.integer_products import int_matmul
from helpers.lessons.quantization.algorithms.packed_products import LONGEST, pack, takes_seven_bits
from helpers.lessons.quantization.algorithms.weight_only import WHOLE, rows_by_codes

AT_EASE = settings(max_examples=15)


def random_codes(*shape: int, bits: int = 8, seed: int = 0, dtype=torch.int8) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    low = 0 if dtype == torch.uint8 else -(2 ** (bits - 1))
    return torch.randint(low, low + 2**bits, shape, generator=generator).to(dtype)


def exact(found: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    assert found.dtype == torch.int32
    assert torch.equal(found.double(), a.double() @ b.double())


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("dtype", integer_products.LONGEST)
@pytest.mark.parametrize("shape", [(5, 33, 7), (3, 2100, 300), (0, 4, 3), (4, 0, 3), (1, 512, 64)])
def test_products_are_exact_with_the_processors_instruction_and_without(
    shape, dtype, quick, monkeypatch
):
    monkeypatch.setattr(integer_products, "_has_int_mm", lambda *asked: quick)
    rows, depth, columns = shape
    a = random_codes(rows, depth, dtype=dtype)
    b = random_codes(columns, depth, seed=1)
    ends = torch.iinfo(dtype)
    a[:1], b[:1] = ends.min or ends.max, -128  # the largest sum there is
    for right in (b.t(), b.t().contiguous()):
        exact(int_matmul(a, right), a, right)
        # Autocast does not round sums, and strides that say nothing are not believed.
        with torch.autocast("cpu", torch.bfloat16):
            exact(int_matmul(a, right), a, right)
        if rows == 1:
            exact(int_matmul(a.as_strided(a.shape, (0, 1)), right), a, right)


def test_the_largest_sum_fits_and_one_more_is_refused():
    for dtype, longest in integer_products.LONGEST.items():
        ends = torch.iinfo(dtype)
        far = ends.min or ends.max
        a = torch.full((1, longest), far, dtype=dtype)
        b = torch.full((longest, 1), -128, dtype=torch.int8)
        assert int_matmul(a, b) == far * -128 * longest
        assert abs(far * -128 * longest) < 2**31 <= abs(far * -128 * (longest + 1))
        with pytest.raises(ValueError, match="may leave 32 bits"):
            int_matmul(a.new_zeros(1, longest + 1), b.new_zeros(longest + 1, 1))


def test_gpu_shapes_are_filled_up_with_zeros(monkeypatch):
    def as_cublas(a, b):
        rows, depth, columns = *a.shape, b.shape[1]
        assert rows > 16 and depth % 8 == columns % 8 == 0
        assert a.is_contiguous() and b.t().is_contiguous()
        return (a.double() @ b.double()).to(torch.int32)

    monkeypatch.setattr(torch, "_int_mm", as_cublas)
    for m, k, n in [(1, 1, 1), (16, 7, 9), (17, 8, 8), (40, 16, 3)]:
        a, b = random_codes(m, k), random_codes(k, n)
        exact(integer_products._on_gpu(a, b.t().contiguous()), a, b)


# --- a weight that is packed: inputs of 7 bits ---

needs_it = pytest.mark.skipif(
    not takes_seven_bits(),
    reason="this processor has quick products of 8 bits, or no FBGEMM: nothing is packed here",
)


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
    scale = torch.rand(channels)
    scaled = pack(weight.t().contiguous().t(), scale)
    assert scaled is not None and torch.equal(scaled.products(x.float()), sums.float() * scale)


@needs_it
def test_longer_sums_are_not_packed():
    assert pack(torch.zeros(1, LONGEST, dtype=torch.int8), ONE) is not None
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
    layer, x = DynamicLinear.of(source, bits), torch.randn(rows, width)
    assert layer.packed is not None
    codes, scale = whole_rows(x, 63)
    assert not rows or codes.abs().max() <= 63
    weight = layer.codes * layer.scale.view(-1, 1)
    expected = linear((codes * scale).double(), weight.double())
    expected += 0 if source.bias is None else source.bias.detach().double()
    torch.testing.assert_close(layer(x).double(), expected, rtol=1e-5, atol=1e-5)


# --- bfloat16 rows ---

ROUNDING = 2**-8  # of bfloat16


@pytest.mark.parametrize("columns", [1, 40, WHOLE, WHOLE + 1, 3 * WHOLE])
@pytest.mark.parametrize(("rows", "out"), [(0, 3), (1, 1), (5, 9)])
def test_products_are_those_of_floats_to_bfloat16s_rounding(rows, out, columns):
    x, codes = torch.randn(rows, columns).bfloat16(), random_codes(out, columns)
    found = rows_by_codes(x, codes)
    assert found.shape == (rows, out) and found.dtype == torch.bfloat16
    exact = x.double() @ codes.double().t()
    most = x.double().abs() @ codes.double().abs().t()
    assert ((found.double() - exact).abs() <= 2 * ROUNDING * most + 1e-9).all()
