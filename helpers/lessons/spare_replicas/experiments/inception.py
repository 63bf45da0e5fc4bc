"""Inception-v3 in numbers: each block's weights and multiplications, counted from its architecture.

Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: "Rethinking the Inception Architecture for Computer
Vision" (2015), table 1 and figures 5 to 7, for pictures of 299 × 299 and without the second
classifier that training alone has. Multiplications stand for the seconds of a block; so early
blocks compute long on few weights, and late ones hold most weights.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple


class Conv(NamedTuple):
    """A convolution: channels in and out, its window's height and width, its picture's side."""

    given: int
    made: int
    height: int
    width: int
    side: int

    @property
    def weights(self) -> int:
        """Of the window, and one a channel that normalisation adds."""
        return self.given * self.made * self.height * self.width + self.made

    @property
    def products(self) -> int:
        """Multiplications for one picture."""
        return self.given * self.made * self.height * self.width * self.side**2


class Block(NamedTuple):
    """One block. weights: how many numbers. products: multiplications for one picture."""

    name: str
    weights: int
    products: int


def blocks() -> list[Block]:
    """All blocks from the picture to the classes, which count as the last block's."""
    found = [_block("stem", _STEM)]
    for name, given, pooled in (("5b", 192, 32), ("5c", 256, 64), ("5d", 288, 64)):
        found.append(_block(name, _at_35(given, pooled)))
    found.append(_block("6a", _TO_17))
    for name, inner in (("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)):
        found.append(_block(name, _at_17(inner)))
    found.append(_block("7a", _TO_8))
    found += [_block("7b", _at_8(1280)), _block("7c", [*_at_8(2048), _CLASSES])]
    return found


def layer_shares(groups: int) -> list[tuple[int, int]]:
    """Weights and products of the blocks in so many groups, for `layers=` of `helpers.train`.

    Neighbours are put together, those first that have the fewest weights together.
    """
    shares = [(block.weights, block.products) for block in blocks()]
    while len(shares) > groups:
        both = [(a[0] + b[0], a[1] + b[1]) for a, b in pairwise(shares)]
        at = min(range(len(both)), key=lambda n: both[n][0])
        shares[at : at + 2] = [both[at]]
    return shares


def _block(name: str, convs: list[Conv]) -> Block:
    return Block(name, sum(c.weights for c in convs), sum(c.products for c in convs))


_STEM = [
    Conv(3, 32, 3, 3, 149),
    Conv(32, 32, 3, 3, 147),
    Conv(32, 64, 3, 3, 147),
    Conv(64, 80, 1, 1, 73),
    Conv(80, 192, 3, 3, 71),
]
_TO_17 = [
    Conv(288, 384, 3, 3, 17),
    Conv(288, 64, 1, 1, 35),
    Conv(64, 96, 3, 3, 35),
    Conv(96, 96, 3, 3, 17),
]
_TO_8 = [
    Conv(768, 192, 1, 1, 17),
    Conv(192, 320, 3, 3, 8),
    Conv(768, 192, 1, 1, 17),
    Conv(192, 192, 1, 7, 17),
    Conv(192, 192, 7, 1, 17),
    Conv(192, 192, 3, 3, 8),
]
_CLASSES = Conv(2048, 1000, 1, 1, 1)


def _at_35(given: int, pooled: int) -> list[Conv]:
    """pooled: channels of the branch that pools first."""
    return [
        Conv(given, 64, 1, 1, 35),
        Conv(given, 48, 1, 1, 35),
        Conv(48, 64, 5, 5, 35),
        Conv(given, 64, 1, 1, 35),
        Conv(64, 96, 3, 3, 35),
        Conv(96, 96, 3, 3, 35),
        Conv(given, pooled, 1, 1, 35),
    ]


def _at_17(inner: int) -> list[Conv]:
    """inner: channels between the long, narrow windows."""
    return [
        Conv(768, 192, 1, 1, 17),
        Conv(768, inner, 1, 1, 17),
        Conv(inner, inner, 1, 7, 17),
        Conv(inner, 192, 7, 1, 17),
        Conv(768, inner, 1, 1, 17),
        Conv(inner, inner, 7, 1, 17),
        Conv(inner, inner, 1, 7, 17),
        Conv(inner, inner, 7, 1, 17),
        Conv(inner, 192, 1, 7, 17),
        Conv(768, 192, 1, 1, 17),
    ]


def _at_8(given: int) -> list[Conv]:
    return [
        Conv(given, 320, 1, 1, 8),
        Conv(given, 384, 1, 1, 8),
        Conv(384, 384, 1, 3, 8),
        Conv(384, 384, 3, 1, 8),
        Conv(given, 448, 1, 1, 8),
        Conv(448, 384, 3, 3, 8),
        Conv(384, 384, 1, 3, 8),
        Conv(384, 384, 3, 1, 8),
        Conv(given, 192, 1, 1, 8),
    ]
