"""Block formats against a reference in whole numbers and fractions, written from the standard."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import torch

from helpers.lessons.quantization.algorithms.block_formats import (
    BLOCK,
    ELEMENTS,
    MXFP4,
    Blocks,
    Element,
    from_blocks,
    in_blocks,
    to_blocks,
)

ml_dtypes = pytest.importorskip("ml_dtypes", reason="it comes with TensorFlow")
LIBRARY = {
    "MXFP8 (E4M3)": ml_dtypes.float8_e4m3fn,
    "MXFP8 (E5M2)": ml_dtypes.float8_e5m2,
    "MXFP6 (E3M2)": ml_dtypes.float6_e3m2fn,
    "MXFP6 (E2M3)": ml_dtypes.float6_e2m3fn,
    "MXFP4 (E2M1)": ml_dtypes.float4_e2m1fn,
}


def value_of(code: int, element: Element) -> float:
    """A code's number by section 5.3: (−1)^s · 2^(E − bias) · (1 + 2^−m · M), or subnormal."""
    e, m = element.exponent_bits, element.mantissa_bits
    sign, exponent, mantissa = code >> (e + m), code >> m & (2**e - 1), code & (2**m - 1)
    if element.infinities and exponent == 2**e - 1:
        return (-1) ** sign * math.inf if mantissa == 0 else math.nan
    if element.nan and (exponent, mantissa) == (2**e - 1, 2**m - 1):
        return math.nan
    if exponent == 0:
        size = Fraction(2) ** (1 - element.bias) * Fraction(mantissa, 2**m)
    else:
        size = Fraction(2) ** (exponent - element.bias) * (1 + Fraction(mantissa, 2**m))
    return float((-1) ** sign * size)


@cache
def positive(element: Element) -> tuple[list[float], list[int]]:
    """The finite numbers from 0 on, and their codes."""
    codes = [c for c in range(2 ** (element.bits - 1)) if math.isfinite(value_of(c, element))]
    return [value_of(code, element) for code in codes], codes


def by_the_standard(block: list[float], element: Element) -> list[float]:
    """Section 6.3, number by number: the scale, the nearest element, ties to the even mantissa.

    A number of 24 digits by a power of two is exact in float64.
    """
    if not all(map(math.isfinite, block)):
        return [math.nan] * len(block)
    largest = max(map(abs, block))
    if largest == 0:
        return [0.0] * len(block)
    exponent = math.frexp(largest)[1] - 1 - (math.frexp(element.highest)[1] - 1)
    scale = 2.0 ** max(-127, min(127, exponent))
    values, codes = positive(element)
    made = []
    for number in block:
        exact = abs(number) / scale
        above = bisect_left(values, exact)
        near = [at for at in (above - 1, above) if 0 <= at < len(values)]
        at = min(near, key=lambda at: (abs(values[at] - exact), codes[at] & 1))
        made.append(math.copysign(values[at] * scale, number))
    return made


def random_blocks(count: int, seed: int) -> np.ndarray:
    """Blocks of all sizes, with ties, outliers, zeros, subnormal numbers, infinities and NaN."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((count, BLOCK)) * 2.0 ** random.integers(-40, 40, (count, 1))
    kinds = random.integers(0, 10, count)
    x[kinds == 1] = np.round(x[kinds == 1] * 8) / 8
    x[kinds == 2, 3] *= 1000
    x[kinds == 3] = np.round(random.uniform(-8, 8, ((kinds == 3).sum(), BLOCK)) * 4) / 4  # ties
    x[kinds == 4] *= random.integers(0, 2, ((kinds == 4).sum(), BLOCK))
    x[kinds == 5] = random.standard_normal(((kinds == 5).sum(), BLOCK)) * 2.0**-140
    x[kinds == 6] = random.standard_normal(((kinds == 6).sum(), BLOCK)) * 2.0**125
    some = np.flatnonzero(kinds == 7)
    x[some, random.integers(0, BLOCK, len(some))] = random.choice(
        [np.inf, -np.inf, np.nan], len(some)
    )
    x[kinds == 8] = 0.0
    with np.errstate(over="ignore"):
        return x.astype(np.float32)


@pytest.mark.parametrize("element", ELEMENTS, ids=[one.name for one in ELEMENTS])
def test_as_the_standard_says_on_a_thousand_blocks(element: Element) -> None:
    x = random_blocks(1000, seed=sum(map(ord, element.name)))
    found = in_blocks(torch.from_numpy(x), element).numpy()
    for row, block in enumerate(x.astype(float).tolist()):
        with np.errstate(over="ignore"):
            want = np.array(by_the_standard(block, element)).astype(np.float32)
        np.testing.assert_array_equal(found[row], want)
    # And against another library's rounding.
    finite = np.isfinite(x).all(1)
    assert np.isnan(found[~finite]).all() and np.isfinite(found[finite]).all()
    largest = np.abs(x[finite]).max(1, keepdims=True).astype(float)
    safe = np.where(largest > 0, largest, 1.0)
    exponent = np.clip(np.frexp(safe)[1] - 1 - element.top, -127, 127)
    scaled = np.clip(
        np.ldexp(x[finite].astype(float), -exponent), -element.highest, element.highest
    )
    rounded = scaled.astype(np.float32).astype(LIBRARY[element.name]).astype(float)
    np.testing.assert_array_equal(found[finite], np.ldexp(rounded, exponent).astype(np.float32))


@pytest.mark.parametrize("element", ELEMENTS, ids=[one.name for one in ELEMENTS])
def test_every_code_stands_for_what_the_standard_says(element: Element) -> None:
    codes = torch.arange(2**element.bits, dtype=torch.uint8)
    scales = torch.tensor([127, 130, 0, 254, 255], dtype=torch.uint8)
    many = codes.repeat(BLOCK)[: BLOCK * max(1, len(codes) // BLOCK)].view(-1, BLOCK)
    want = np.array([value_of(int(code), element) for code in many.flatten()])
    for scale in scales.tolist():
        made = from_blocks(
            Blocks(torch.full((len(many),), scale, dtype=torch.uint8), many, element)
        )
        with np.errstate(over="ignore", under="ignore"):
            exact = (want * 2.0 ** (scale - 127)).astype(np.float32)
        np.testing.assert_array_equal(
            made.numpy(), exact if scale != 255 else np.full_like(exact, np.nan)
        )


@pytest.mark.parametrize(
    "x", [torch.zeros(31), torch.tensor(1.0), torch.zeros(32, dtype=torch.int8)]
)
def test_what_makes_no_blocks_is_refused(x: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="Blocks are made of 32 floating numbers"):
        to_blocks(x, MXFP4)
