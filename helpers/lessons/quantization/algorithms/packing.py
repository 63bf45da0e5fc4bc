"""Codes of few bits packed into bytes: two of 4 bits in one byte, four of 6 bits in three."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from helpers.lessons.quantization.algorithms.quantization import check_bits


def packed_bytes(count: int, bits: int) -> int:
    """Bytes that `count` codes of some bits take once they are packed."""
    return math.ceil(count * bits / 8)


def pack(codes: Tensor, bits: int) -> Tensor:
    """Signed codes as a stream of bits, lowest bit first.

    codes: int8, any shape, each from −2^(bits−1) to 2^(bits−1) − 1. Returns a 1-d uint8 tensor of
    `packed_bytes(codes.numel(), bits)` elements. Raises ValueError for a code that has more bits.
    """
    check_bits(bits)
    half = 2 ** (bits - 1)
    from_zero = codes.flatten().to(torch.int16) + half
    if from_zero.numel() and (from_zero.min() < 0 or from_zero.max() >= 2 * half):
        raise ValueError(f"A signed code of {bits} bits lies between {-half} and {half - 1}.")
    ones = from_zero.to(torch.uint8)[:, None] >> _places(bits, codes) & 1
    room = packed_bytes(len(from_zero), bits) * 8
    stream = torch.nn.functional.pad(ones.flatten(), (0, room - ones.numel()))
    return (stream.view(-1, 8) << _places(8, codes)).sum(1, dtype=torch.uint8)


def unpack(packed: Tensor, bits: int, shape: Sequence[int]) -> Tensor:
    """The codes, int8 in `shape`, that `pack` made a stream of.

    Raises ValueError where the stream does not fit the shape.
    """
    check_bits(bits)
    count = math.prod(shape)
    if packed.numel() != packed_bytes(count, bits):
        raise ValueError(
            f"{count} codes of {bits} bits take {packed_bytes(count, bits)} bytes, but there are "
            f"{packed.numel()}."
        )
    ones = packed[:, None] >> _places(8, packed) & 1
    ones = ones.flatten()[: count * bits].view(count, bits)
    from_zero = (ones << _places(bits, packed)).sum(1, dtype=torch.uint8)
    return (from_zero.to(torch.int16) - 2 ** (bits - 1)).to(torch.int8).view(list(shape))


def _places(bits: int, beside: Tensor) -> Tensor:
    """0, 1, 2 and so on: by how much each bit of a number is shifted."""
    return torch.arange(bits, dtype=torch.uint8, device=beside.device)
