"""What travels instead of a gradient: fewer bits for each number, or fewer numbers.

An encoding makes one or a few small tensors of a flat tensor, and a tensor of the old length of
these. What it cannot carry is an error, which `feedback` keeps for the next step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

Message = tuple[Tensor, ...]
Share = float | Callable[[int], float]
LONG, SAMPLED = 50_000, 5_000


class Encoding(Protocol):
    """A way to write a flat tensor down."""

    def encode(self, flat: Tensor, step: int = 0) -> Message:
        """What travels, as new tensors: the flat one changes before they have arrived.

        flat: (n,), floating point. step: how many sums there were before.
        """

    def decode(self, message: Message, like: Tensor) -> Tensor:
        """The numbers again, as a new tensor. like: (n,), for the length and the type."""


class Half:
    """Each number in 16 bits.

    dtype: `torch.bfloat16` has float32's range and 8 significant bits; `torch.float16` has 11, but
    is 0 below 6e-8 and infinite from 65 520 on. A number is off by 2⁻⁸ or 2⁻¹¹ of itself at most.
    """

    def __init__(self, dtype: torch.dtype = torch.bfloat16) -> None:
        self.dtype = dtype

    def encode(self, flat: Tensor, step: int = 0) -> Message:
        """Rounded to the nearest."""
        return (flat.to(self.dtype, copy=True),)

    def decode(self, message: Message, like: Tensor) -> Tensor:
        """The same numbers in `like`'s type."""
        return message[0].to(like.dtype, copy=True)


class TopK:
    """The share of the numbers that is largest by absolute value, and where each belongs.

    share: from above 0 up to 1, or a function of the step, such as `falling_share`. At least one
    number travels. Of k float32 numbers travel 8k bytes: 4 for the number, 4 for its place.
    Source: Lin et al., "Deep Gradient Compression" (2018), section 3.
    """

    def __init__(self, share: Share = 0.01) -> None:
        if not callable(share):
            _checked(share)
        self.share = share

    def encode(self, flat: Tensor, step: int = 0) -> Message:
        """Places in ascending order (k,), int32, and the numbers there (k,)."""
        share = _checked(self.share(step)) if callable(self.share) else self.share
        count = min(len(flat), max(1, int(len(flat) * share)))
        places = largest_places(flat.abs(), count)
        return places.to(torch.int32), flat[places]

    def decode(self, message: Message, like: Tensor) -> Tensor:
        """These numbers in their places, zeros elsewhere."""
        places, values = message
        return torch.zeros_like(like).index_copy_(0, places.to(torch.int64), values)


class Signs:
    """One bit a number, its sign, and one number for all: their mean absolute value.

    Source: Seide et al., "1-Bit Stochastic Gradient Descent" (2014), section 3, with the scale of
    Karimireddy et al., "Error Feedback Fixes SignSGD" (2019), algorithm 1.
    """

    def encode(self, flat: Tensor, step: int = 0) -> Message:
        """The signs, ⌈n/8⌉ bytes, where a 1 is a number from 0 up; and the scale, (1,)."""
        bits = np.packbits((flat >= 0).cpu().numpy())
        scale = flat.abs().mean().reshape(1) if len(flat) else flat.new_zeros(1)
        return torch.from_numpy(bits), scale

    def decode(self, message: Message, like: Tensor) -> Tensor:
        """Plus or minus the scale."""
        bits, scale = message
        signs = torch.from_numpy(np.unpackbits(bits.cpu().numpy(), count=len(like)))
        return (signs.to(like) * 2 - 1) * scale.to(like)


def largest_places(sizes: Tensor, count: int) -> Tensor:
    """Where the `count` largest are, ascending. sizes: (n,), from 0 up. Returns: (count,), int64.

    Of a long tensor a sample tells how large about the count-th is; only what is at least nearly
    so large is looked at closely. Source: Lin et al. (2018), section 3.1, which takes the sample's
    word for it.
    """
    if len(sizes) > LONG and count < len(sizes) // 8:
        sample = sizes[:: len(sizes) // SAMPLED]
        above = min(2 * count * len(sample) // len(sizes) + 20, len(sample) - 1)  # some to spare
        bound = sample.kthvalue(len(sample) - above).values
        near = (~(sizes < bound)).nonzero()[:, 0]  # with what is no number, which shall be seen
        if len(near) >= count:
            return near[sizes[near].topk(count, sorted=False).indices].sort().values
    return sizes.topk(count, sorted=False).indices.sort().values


def falling_share(share: float, steps: int) -> Callable[[int], float]:
    """A share that falls from a quarter to `share` over so many steps, by equal factors.

    Early gradients change fast, so that what is sent late is stale: the more so, the less is sent.
    Source: Lin et al. (2018), section 3.3, which goes from 25 % to 0.1 % in four epochs.
    """
    return lambda step: float(0.25 * (share / 0.25) ** min(step / steps, 1.0))


def _checked(share: float) -> float:
    if not 0 < share <= 1:
        raise ValueError(f"A share lies above 0 and up to 1, not at {share}: 0.01 is 1 %.")
    return share
