"""Products of 8-bit matrices, with the processor's instruction, without, and in a GPU's shapes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.quantization.algorithms import integer_products
from helpers.lessons.quantization.algorithms.integer_products import int_matmul

AT_EASE = settings(deadline=None, max_examples=15)
SEEDS = st.integers(0, 10_000)


@AT_EASE
@given(
    SEEDS,
    st.integers(0, 40),
    st.integers(0, 70),
    st.integers(0, 40),
    st.booleans(),
    st.sampled_from([torch.int8, torch.uint8]),
)
def test_products_of_8_bit_matrices_are_exact(seed, m, k, n, turned, dtype):
    generator = torch.Generator().manual_seed(seed)
    ends = torch.iinfo(dtype)
    a = torch.randint(ends.min, ends.max + 1, (m, k), generator=generator).to(dtype)
    b = torch.randint(-128, 128, (n, k), generator=generator).to(torch.int8).t()
    b = b if turned else b.contiguous()
    found = int_matmul(a, b)
    assert found.dtype == torch.int32
    assert torch.equal(found.double(), a.double() @ b.double())


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


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("dtype", integer_products.LONGEST)
@pytest.mark.parametrize("shape", [(5, 33, 7), (3, 2100, 300)])
def test_the_same_product_with_the_processors_instruction_and_without(
    shape, dtype, quick, monkeypatch
):
    monkeypatch.setattr(integer_products, "_has_int_mm", lambda *asked: quick)
    rows, depth, columns = shape
    ends = torch.iinfo(dtype)
    a = torch.randint(ends.min, ends.max + 1, (rows, depth)).to(dtype)
    b = torch.randint(-128, 128, (columns, depth)).to(torch.int8)
    a[0], b[0] = ends.min or ends.max, -128  # the largest sum there is
    for right in (b.t(), b.t().contiguous()):
        found = int_matmul(a, right)
        assert found.dtype == torch.int32
        assert torch.equal(found.double(), a.double() @ right.double())


def test_gpu_shapes_are_filled_up_with_zeros(monkeypatch):
    def as_cublas(a, b):
        rows, depth, columns = *a.shape, b.shape[1]
        assert rows > 16 and depth % 8 == columns % 8 == 0
        assert a.is_contiguous() and b.t().is_contiguous()
        return (a.double() @ b.double()).to(torch.int32)

    monkeypatch.setattr(torch, "_int_mm", as_cublas)
    for m, k, n in [(1, 1, 1), (16, 7, 9), (17, 8, 8), (40, 16, 3)]:
        a = torch.randint(-128, 128, (m, k), dtype=torch.int8)
        b = torch.randint(-128, 128, (k, n), dtype=torch.int8)
        found = integer_products._on_gpu(a, b.t().contiguous())
        assert torch.equal(found.double(), a.double() @ b.double())


def test_autocast_does_not_round_sums(monkeypatch):
    monkeypatch.setattr(integer_products, "_has_int_mm", lambda *asked: False)
    a = torch.full((1, 1024), 127, dtype=torch.int8)
    with torch.autocast("cpu", torch.bfloat16):
        assert int(int_matmul(a, a.t())) == 1024 * 127 * 127


def test_strides_that_say_nothing_are_not_believed():
    a = torch.randint(-128, 128, (1, 512), dtype=torch.int8)
    b = torch.randint(-128, 128, (512, 64), dtype=torch.int8)
    found = int_matmul(a.as_strided(a.shape, (0, 1)), b)
    assert torch.equal(found.double(), a.double() @ b.double())
