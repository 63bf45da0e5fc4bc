"""MNIST from files as Keras and torchvision leave them: the same pictures from both."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.lessons.data_parallel.experiments.digits import PIXELS, digits


def made() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    found = {}
    for part, count in (("train", 30), ("test", 10)):
        found[f"x_{part}"] = random.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        found[f"y_{part}"] = random.integers(0, 10, count, dtype=np.uint8)
    return found


def as_keras(folder: Path) -> str:
    np.savez(folder / "mnist.npz", **made())
    return str(folder / "mnist.npz")


def as_torchvision(folder: Path, packed: bool = False) -> str:
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name, values in made().items():
        what = "images" if name[0] == "x" else "labels"
        start = "train" if "train" in name else "t10k"
        head = struct.pack(f">BBBB{values.ndim}i", 0, 0, 8, values.ndim, *values.shape)
        path = raw / f"{start}-{what}-idx{values.ndim}-ubyte"
        if packed:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(head + values.tobytes()))
        else:
            path.write_bytes(head + values.tobytes())
    return str(folder)


def test_all_kinds_of_files_give_the_same(tmp_path: Path) -> None:
    places = [as_keras(tmp_path)]
    places += [as_torchvision(tmp_path / str(packed), packed) for packed in (False, True)]
    first, *others = (digits(torch.float64, mnist_at=place) for place in places)
    assert first.train_x.shape == (32, PIXELS) and first.test_x.shape == (8, PIXELS)
    assert 0 < first.train_x.min() < first.train_x.max() < 1
    for other in others:
        assert all(torch.equal(a, b) for a, b in zip(first, other, strict=True))


def test_keras_s_own_folder_is_found_and_a_pixel_is_the_average_of_those_it_stands_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))

    with pytest.raises(FileNotFoundError, match="leave the course's own digits"):
        digits(mnist_at="")
    (tmp_path / "datasets").mkdir()
    as_keras(tmp_path / "datasets")
    everything = digits(torch.float64, mnist_at="")
    rows = torch.cat([everything.train_x, everything.test_x])
    # 28 pixels on 8: the first stands for the first four, ⌈28/8⌉ of them.
    wanted = torch.tensor(made()["x_train"][0, :4, :4].mean() / 255)
    assert torch.isclose(rows[:, 0], wanted, atol=1e-6).any()


def test_what_is_no_mnist_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="MNIST is not at"):
        digits(mnist_at=str(tmp_path))
    place = Path(as_torchvision(tmp_path))
    labels = place / "MNIST" / "raw" / "train-labels-idx1-ubyte"
    labels.write_bytes(labels.read_bytes()[:-1])
    with pytest.raises(ValueError, match="train-labels-idx1-ubyte is damaged"):
        digits(mnist_at=str(place))
    (tmp_path / "text.npz").write_text("no pictures")
    with pytest.raises(ValueError, match="no MNIST as Keras or torchvision keep it"):
        digits(mnist_at=str(tmp_path / "text.npz"))
