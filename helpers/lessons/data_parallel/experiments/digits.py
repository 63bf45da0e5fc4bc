"""The handwritten digits of scikit-learn: 1797 pictures of 8 × 8 pixels, nothing to download.

Source: Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits" (UCI Machine Learning
Repository, 1998), of which scikit-learn ships the test part.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from helpers.lessons.data_parallel.experiments.mnist import mnist
from helpers.lessons.data_parallel.experiments.pictures import pictures

PIXELS = 64
CLASSES = 10


class Digits(NamedTuple):
    """A split of the digits. x: (rows, 64), pixels from 0 to 1; y: (rows,), int64, 0 to 9."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor


@lru_cache(maxsize=2)
def _raw(mnist_at: str | None) -> tuple[Tensor, Tensor]:
    if mnist_at is not None:
        return mnist(mnist_at)
    pixels, classes = pictures()
    return torch.from_numpy(pixels) / 16, torch.from_numpy(classes)


def digits(
    dtype: torch.dtype = torch.float32,
    test: float = 0.2,
    seed: int = 0,
    mnist_at: str | None = None,
) -> Digits:
    """The digits, shuffled and split by a seed, the same on every rank and every machine.

    dtype: torch.float32, or torch.float64 where sums are to be compared exactly. test: the part
    of the rows held out for testing, above 0 and below 1. mnist_at: take MNIST's 70,000 pictures
    instead, averaged to as many pixels: Keras's mnist.npz, the folder that was torchvision's
    `root`, or "" for where Keras keeps it.
    """
    if not 0 < test < 1:
        raise ValueError(f"The test part must lie between 0 and 1, not be {test}.")
    x, y = _raw(mnist_at)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x[order].to(dtype), y[order]
    split = len(x) - round(test * len(x))
    return Digits(x[:split], y[:split], x[split:], y[split:])


def batches(rows: int, size: int, seed: int = 0) -> Iterator[Tensor]:
    """The row numbers of batch after batch, for ever, each epoch in a new order.

    rows: in the data set. size: rows of a batch; the rest of an epoch that fills no batch is left
    out. The order depends on the seed alone, so every rank that is given it draws the same
    batches, and takes its shard of each.
    """
    if not 0 < size <= rows:
        raise ValueError(f"A batch has 1 to {rows} rows, not {size}.")
    generator = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(rows, generator=generator)
        for start in range(0, rows - size + 1, size):
            yield order[start : start + size]
