"""Worn digits: the course's digits turned, shifted, scaled and smudged, which makes them harder.

A small network has the plain digits right after a few hundred steps, and every way to train ends
alike. Here each picture is made anew from one of scikit-learn's, twelve pixels wide, so that there
are many more of them, and no network knows all. Test pictures are made of digits that no training
picture is made of.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from helpers.lessons.data_parallel.experiments.digits import CLASSES, Digits, digits
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask

SIDE = 12
WIDTHS = (SIDE * SIDE, 96, 48, CLASSES)
TRAIN, TEST = 12_000, 2000
TURN, SCALE, SHIFT, NOISE = 10.0, 0.1, 0.1, 0.1  # degrees, shares of the width, of white


@lru_cache(maxsize=1)
def worn_digits(mnist_at: str | None = None) -> Digits:
    """The same pictures on every rank and machine: x (rows, 144) in float32, y (rows,) int64.

    mnist_at: made of MNIST's pictures instead, as in `digits`.
    """
    plain = digits(mnist_at=mnist_at)
    random = torch.Generator().manual_seed(0)
    train = _worn(plain.train_x, plain.train_y, TRAIN, random)
    return Digits(*train, *_worn(plain.test_x, plain.test_y, TEST, random))


def _worn(x: Tensor, y: Tensor, rows: int, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """So many pictures, each of a digit that is drawn from these."""

    def between(limit: float) -> Tensor:
        return (2 * torch.rand(rows, generator=random) - 1) * limit

    chosen = torch.randint(len(x), (rows,), generator=random)
    turn, scale = between(math.radians(TURN)), 1.2 + between(SCALE)
    cos, sin = turn.cos() * scale, turn.sin() * scale
    shift = (between(SHIFT), between(SHIFT))
    matrix = torch.stack((cos, -sin, shift[0], sin, cos, shift[1]), dim=1).view(rows, 2, 3)
    grid = affine_grid(matrix, [rows, 1, SIDE, SIDE], align_corners=False)
    pictures = x[chosen].view(rows, 1, 8, 8)
    moved = grid_sample(pictures, grid, align_corners=False).flatten(1)
    noise = NOISE * torch.randn(moved.shape, generator=random)
    return (moved + noise).clamp(0, 1), y[chosen]


class WornTask(DigitsTask):
    """What workers train on: a small network, and worn digits. mnist_at: as in `worn_digits`.

    seed: of the initial weights and the batches; the pictures are the same for every seed. Sent to
    another process it is made anew there.
    """

    def __init__(self, seed: int = 0, mnist_at: str | None = None) -> None:
        self.mnist_at = mnist_at
        super().__init__(WIDTHS, seed=seed, data=worn_digits(mnist_at))

    def __reduce__(self) -> tuple[type[WornTask], tuple[int, str | None]]:
        return WornTask, (self.seed, self.mnist_at)
