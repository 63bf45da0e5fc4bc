"""Block formats: 32 numbers of few bits share one scale, which is a power of two.

A block holds a scale of 8 bits and 32 elements in a small floating format (MXFP8, MXFP6, MXFP4). An
outlier spoils the scale of its own block alone, and scaling is an addition of exponents.

Source: Open Compute Project, "OCP Microscaling Formats (MX) Specification", version 1.0 (2023),
sections 5.2 to 5.4 (the formats and the scale) and 6.3 (conversion).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

BLOCK = 32
SCALE_BIAS, SCALE_NAN = 127, 255  # of E8M0: the scale of code s is 2^(s − 127)


@dataclass(frozen=True)
class Element:
    """A small floating format: a sign, then bits of an exponent, then those of a mantissa.

    highest: the largest magnitude of a finite number. infinities: whether the highest exponent is
    kept for infinity and NaN, as in IEEE's formats. nan: whether the last code alone is NaN.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    highest: float
    infinities: bool = False
    nan: bool = False

    @property
    def bits(self) -> int:
        """Of an element, its sign among them."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        """What is taken off an exponent's code."""
        return int(2 ** (self.exponent_bits - 1) - 1)

    @property
    def top(self) -> int:
        """The exponent of the largest number."""
        return int(torch.tensor(self.highest).log2().floor())

    @property
    def block_bits(self) -> int:
        """Of a block with its scale."""
        return 8 + BLOCK * self.bits


MXFP8_E4M3 = Element("MXFP8 (E4M3)", 4, 3, 448.0, nan=True)
MXFP8_E5M2 = Element("MXFP8 (E5M2)", 5, 2, 57344.0, infinities=True)
MXFP6_E3M2 = Element("MXFP6 (E3M2)", 3, 2, 28.0)
MXFP6_E2M3 = Element("MXFP6 (E2M3)", 2, 3, 7.5)
MXFP4 = Element("MXFP4 (E2M1)", 2, 1, 6.0)
ELEMENTS = (MXFP8_E4M3, MXFP8_E5M2, MXFP6_E3M2, MXFP6_E2M3, MXFP4)


class Blocks(NamedTuple):
    """Numbers in blocks. scales: uint8, (…, n/32). codes: uint8, (…, n/32, 32), the low bits."""

    scales: Tensor
    codes: Tensor
    element: Element


def to_blocks(x: Tensor, element: Element) -> Blocks:
    """The blocks of a tensor, along its last dimension.

    The scale is 2^(⌊log2 of the largest magnitude⌋ − the exponent of the format's largest number);
    then each number over the scale is rounded to the nearest element, ties to the even one, and
    what is beyond the largest becomes the largest. A block of zeros has the smallest scale, and one
    that holds an infinity or a NaN the scale NaN, as the specification leaves open (6.3).

    x: floating, float32 at most, its last dimension a multiple of 32. Raises ValueError otherwise.
    """
    if x.dim() == 0 or x.shape[-1] % BLOCK or not x.is_floating_point():
        raise ValueError(
            f"Blocks are made of {BLOCK} floating numbers along the last dimension, not of "
            f"{tuple(x.shape)} in {x.dtype}."
        )
    values = x.detach().double().unflatten(-1, (-1, BLOCK))
    largest = values.abs().amax(-1)
    exponent = (_floor_log2(largest) - element.top).clamp(-SCALE_BIAS, SCALE_BIAS)
    exponent = torch.where(largest > 0, exponent, torch.full_like(exponent, -SCALE_BIAS))
    spoiled = ~values.isfinite().all(-1)
    scales = torch.where(spoiled, SCALE_NAN, exponent + SCALE_BIAS).to(torch.uint8)
    scaled = torch.ldexp(values, -exponent[..., None])
    codes = _encode(torch.where(spoiled[..., None], 0.0, scaled), element)
    return Blocks(scales, codes, element)


def from_blocks(blocks: Blocks) -> Tensor:
    """The numbers that blocks stand for, float32, (…, n). Products beyond float32 are infinite."""
    scales, codes, element = blocks
    values = torch.ldexp(_decode(codes, element), scales[..., None].int() - SCALE_BIAS)
    values = values.masked_fill(scales[..., None] == SCALE_NAN, torch.nan)
    return values.flatten(-2).float()


def in_blocks(x: Tensor, element: Element) -> Tensor:
    """What is left of x in a block format: there and back."""
    return from_blocks(to_blocks(x, element)).to(x.dtype)


def _floor_log2(x: Tensor) -> Tensor:
    """⌊log2 x⌋ exactly, as int32; of 0 something."""
    return torch.frexp(x).exponent - 1


def _encode(x: Tensor, element: Element) -> Tensor:
    """Finite numbers as codes, uint8."""
    size = x.abs()
    lowest = 1 - element.bias  # below it numbers keep this exponent, and lose digits
    exponent = torch.where(size > 0, _floor_log2(size), lowest).clamp(min=lowest)
    steps = torch.round(torch.ldexp(size, element.mantissa_bits - exponent))  # ties to even
    rounded = torch.ldexp(steps, exponent - element.mantissa_bits).clamp(max=element.highest)
    exponent = torch.where(rounded > 0, _floor_log2(rounded), lowest).clamp(min=lowest)
    steps = torch.ldexp(rounded, element.mantissa_bits - exponent)
    # A normal number has 2^mantissa_bits steps that are not written down: they count one exponent.
    code = (exponent - lowest) * 2**element.mantissa_bits + steps
    negative = torch.signbit(x) * 2 ** (element.bits - 1)
    return (code + negative).to(torch.uint8)


def _decode(codes: Tensor, element: Element) -> Tensor:
    """What codes stand for, in float64, infinities and NaN among them."""
    whole = codes.int()
    negative = whole >> (element.bits - 1) & 1
    magnitude = whole & (2 ** (element.bits - 1) - 1)
    exponent, mantissa = magnitude >> element.mantissa_bits, magnitude % 2**element.mantissa_bits
    normal = exponent > 0
    steps = (mantissa + normal * 2**element.mantissa_bits).double()
    power = torch.where(normal, exponent, 1) - element.bias - element.mantissa_bits
    value = torch.ldexp(steps, power)
    if element.infinities:
        highest = exponent == 2**element.exponent_bits - 1
        value = value.masked_fill(highest & (mantissa == 0), torch.inf)
        value = value.masked_fill(highest & (mantissa > 0), torch.nan)
    if element.nan:
        value = value.masked_fill(magnitude == 2 ** (element.bits - 1) - 1, torch.nan)
    return torch.where(negative > 0, -value, value)
