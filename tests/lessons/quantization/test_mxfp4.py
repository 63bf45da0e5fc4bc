"""MXFP4 beside the rounding of another library, number by number."""

from __future__ import annotations

import numpy as np
import pytest
import torch

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


def test_scale_and_elements_are_what_the_standard_says() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="it comes with TensorFlow")
    x = blocks()
    exponents, elements = mxfp4(x)
    largest = x.abs().amax(1).double().numpy()
    power = np.floor(np.log2(np.where(largest > 0, largest, 1.0)))
    want = np.where(largest > 0, np.maximum(power - 2, -127), -127)
    np.testing.assert_array_equal(exponents.numpy(), want)
    over = np.clip(np.ldexp(x.double().numpy(), -exponents.numpy()[:, None]), -6, 6)
    rounded = over.astype(np.float32).astype(ml_dtypes.float4_e2m1fn).astype(float)
    np.testing.assert_array_equal(elements.double().numpy(), rounded)
    assert elements.dtype == x.dtype and not elements[700].any()


@pytest.mark.parametrize("shape", [(32,), (2, 31), (1, 2, 32)])
def test_what_is_no_block_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="Blocks are rows of 32 floating numbers"):
        mxfp4(torch.zeros(shape))
