"""MNIST, where a machine has it already: read from the files of Keras or of torchvision.

Nothing is downloaded, and neither library is needed. The pictures are averaged from 28 × 28 to the
8 × 8 pixels of the course's digits, so that the same networks take them. Source: LeCun, Bottou,
Bengio and Haffner, "Gradient-Based Learning Applied to Document Recognition" (1998), section III.
"""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

SIDE = 8
_PARTS = (("train-images", 3), ("train-labels", 1), ("t10k-images", 3), ("t10k-labels", 1))


def mnist(place: str = "") -> tuple[Tensor, Tensor]:
    """All 70,000 pictures, (rows, 64) from 0 to 1 in float32, and their classes, (rows,) int64.

    place: a file mnist.npz as Keras keeps it, or the folder that was torchvision's `root`; where
    none is given, Keras's own folder. Raises FileNotFoundError where it is not there, ValueError
    where it is something else.
    """
    path = Path(place).expanduser() if place else _of_keras()
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


def _of_keras() -> Path:
    home = os.environ.get("KERAS_HOME", "~/.keras")
    return Path(home).expanduser() / "datasets" / "mnist.npz"


def _read_keras(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as kept:
        pictures = np.concatenate([kept["x_train"], kept["x_test"]])
        return pictures, np.concatenate([kept["y_train"], kept["y_test"]])


def _read_torchvision(path: Path) -> tuple[np.ndarray, np.ndarray]:
    parts = [_read_idx(path / "MNIST" / "raw", f"{name}-idx{n}-ubyte") for name, n in _PARTS]
    return np.concatenate(parts[::2]), np.concatenate(parts[1::2])


def _read_idx(folder: Path, name: str) -> np.ndarray:
    """An array of bytes: four bytes that say how many axes, four for each length, the numbers."""
    plain = folder / name
    data = plain.read_bytes() if plain.exists() else gzip.decompress(_packed(folder, name))
    axes = data[3] if len(data) > 3 else 0
    shape = np.frombuffer(data, ">i4", axes, 4) if len(data) >= 4 + 4 * axes else np.zeros(0)
    if data[:3] != b"\0\0\x08" or len(data) != 4 + 4 * axes + int(np.prod(shape)):
        raise EOFError(f"{name} is damaged.")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)


def _packed(folder: Path, name: str) -> bytes:
    return (folder / f"{name}.gz").read_bytes()
