"""MXFP4, the smallest of the block formats: a power of two, and 32 numbers of 4 bits.

An element has a sign, two bits of exponent and one of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4 and 6.
Source: Open Compute Project, "OCP Microscaling Formats (MX) Specification", version 1.0 (2023),
sections 5.3.3 and 6.3.
"""

from __future__ import annotations

import torch
from torch import Tensor

TOP = 2  # the exponent of the largest element, 6 = 1.5 · 2²
LEAST = -127  # the smallest exponent that a scale can have


def mxfp4(x: Tensor) -> tuple[Tensor, Tensor]:
    """Blocks of MXFP4 as numbers: the exponents of their scales, and their elements.

    x: (blocks, 32), floating and finite, of float32's range. Returns int32 (blocks,), and elements
    (blocks, 32) from −6 to 6 in the type of x; elements · 2^exponent is what is left of x. Elements
    are the nearest ones, ties to the even mantissa, and 6 for what is beyond. Raises ValueError for
    other shapes and types.
    Example: a block of 0, 1, 2 … 31 has the exponent 2; 31 / 4 is 7.75, and its element 6.
    """
    if x.dim() != 2 or x.shape[1] != 32 or not x.is_floating_point():
        raise ValueError(
            f"Blocks are rows of 32 floating numbers, not {tuple(x.shape)} in {x.dtype}."
        )
    largest = x.detach().abs().amax(1)
    power = torch.frexp(largest).exponent - 1  # ⌊log2⌋, but for 0
    exponents = torch.where(largest > 0, power - TOP, LEAST).clamp(min=LEAST)
    over = torch.ldexp(x.detach().double(), -exponents[:, None])
    magnitude = over.abs().clamp(max=6.0)
    # Steps of 0.5 up to 2, of 1 up to 4, of 2 from there on: a whole number of them, even at a tie.
    step = 0.5 + 0.5 * (magnitude >= 2) + (magnitude >= 4)
    return exponents, torch.copysign(torch.round(magnitude / step) * step, over).to(x.dtype)
