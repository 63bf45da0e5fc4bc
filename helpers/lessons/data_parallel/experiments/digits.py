"""The handwritten digits of scikit-learn: 1797 pictures of 8 × 8 pixels, nothing to download.

And MNIST, where a machine has it already, from the files of Keras or of torchvision; neither
library is needed. Its pictures are averaged from 28 × 28 to 8 × 8 pixels, so that the same networks
take them. Sources: Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits" (UCI Machine
Learning Repository, 1998), of which scikit-learn ships the test part; LeCun, Bottou, Bengio and
Haffner, "Gradient-Based Learning Applied to Document Recognition" (1998), section III.
"""

from __future__ import annotations

import gzip
import os
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from helpers.lessons.data_parallel.experiments.pictures import pictures

SIDE = 8
PIXELS = SIDE**2
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


def mnist(place: str = "") -> tuple[Tensor, Tensor]:
    """All 70,000 pictures, (rows, 64) from 0 to 1 in float32, and their classes, (rows,) int64.

    place: a file mnist.npz as Keras keeps it, or the folder that was torchvision's `root`; where
    none is given, Keras's own folder. Raises FileNotFoundError where it is not there, ValueError
    where it is something else.
    """
    keras = f"{os.environ.get('KERAS_HOME', '~/.keras')}/datasets/mnist.npz"
    path = Path(place or keras).expanduser()
    read = _read_torchvision if path.is_dir() else _read_keras
    try:
        pictures, classes = read(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"MNIST is not at {path}. Give the place of Keras's mnist.npz or of the folder into "
            "which torchvision put it, or leave the course's own digits."
        ) from None
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is no MNIST as Keras or torchvision keep it: {error}") from None
    if pictures.ndim != 3 or len(pictures) != len(classes):
        raise ValueError(f"{path} holds {pictures.shape} pictures and {classes.shape} classes.")
    smaller = adaptive_avg_pool2d(torch.from_numpy(pictures).float()[:, None] / 255, SIDE)
    return smaller.flatten(1), torch.from_numpy(classes).long()


def _read_keras(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as kept:
        pictures = np.concatenate([kept["x_train"], kept["x_test"]])
        return pictures, np.concatenate([kept["y_train"], kept["y_test"]])


def _read_torchvision(path: Path) -> tuple[np.ndarray, np.ndarray]:
    names = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    parts = [_read_idx(path / "MNIST" / "raw", f"{name}-ubyte") for name in names]
    return np.concatenate(parts[::2]), np.concatenate(parts[1::2])


def _read_idx(folder: Path, name: str) -> np.ndarray:
    """An array of bytes: four bytes that say how many axes, four for each length, the numbers."""
    plain = folder / name
    packed = folder / f"{name}.gz"
    data = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    axes = data[3] if len(data) > 3 else 0
    shape = np.frombuffer(data, ">i4", axes, 4) if len(data) >= 4 + 4 * axes else np.zeros(0)
    if data[:3] != b"\0\0\x08" or len(data) != 4 + 4 * axes + int(np.prod(shape)):
        raise EOFError(f"{name} is damaged.")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)
