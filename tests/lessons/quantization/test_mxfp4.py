"""MXFP4 beside the course's general block formats, and beside torchao's blocks."""

from __future__ import annotations

import pytest
import torch

from helpers.lessons.quantization.algorithms.block_formats import MXFP4, in_blocks, to_blocks
from helpers.lessons.quantization.algorithms.mxfp4 import mxfp4


def blocks() -> torch.Tensor:
    """Blocks of all sizes, some with ties, outliers and zeros, and one of subnormal numbers."""
    draws = torch.Generator().manual_seed(0)
    x = torch.randn(3000, 32, generator=draws)
    x *= 2.0 ** torch.randint(-40, 40, (3000, 1), generator=draws)
    x[:500] = torch.round(4 * x[:500].clamp(-8, 8)) / 4
    x[500:600, 7] *= 1000
    x[600:700] *= torch.randint(0, 2, (100, 32), generator=draws)
    x[700], x[701] = 0.0, 2.0**-130
    x[702, 3] = torch.nextafter(torch.tensor(2.0**50), torch.tensor(0.0))
    return x


def test_it_is_what_the_general_formats_make() -> None:
    x = blocks()
    exponents, elements = mxfp4(x)
    assert torch.equal(exponents + 127, to_blocks(x, MXFP4).scales[:, 0].int())
    left = torch.ldexp(elements.double(), exponents[:, None]).float()
    assert torch.equal(left, in_blocks(x, MXFP4)) and elements.dtype == x.dtype
    assert (elements.abs() <= 6).all() and not (elements[700]).any() and exponents[700] == -127


@pytest.mark.parametrize("shape", [(32,), (2, 31), (1, 2, 32)])
def test_what_is_no_block_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="Blocks are rows of 32 floating numbers"):
        mxfp4(torch.zeros(shape))
