"""Right answers to exercises 11.1, 11.2, 11.4 and 11.7 that differ from the references."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import torch


def quantize_by_looking(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """Writes all values of the grid down and looks for the nearest one."""
    ends = sorted([low, high, 0.0])
    scale = torch.tensor((ends[2] - ends[0]) / (2**bits - 1), dtype=torch.float64)
    codes = torch.arange(-(2 ** (bits - 1)), 2 ** (bits - 1))
    zero = codes[0] - torch.round(ends[0] / scale).long()
    places = (values.double()[..., None] - scale * (codes - zero)).abs().argmin(-1)
    return [codes[places].to(torch.int8), scale, zero]


def quantize_with_torch(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """torch's own for training, and the codes out of what it leaves."""
    low, high, half = min(low, 0.0), max(high, 0.0), 2 ** (bits - 1)
    scale = (high - low) / (2 * half - 1)
    zero = max(-half, min(half - 1, -half - round(low / scale)))
    left = torch.fake_quantize_per_tensor_affine(values, scale, zero, -half, half - 1)
    return (left / scale + zero).round().to(torch.int8), scale, zero


def quantize_with_fractions(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """One value after the other, exactly, in numpy; a zero point of a numpy type."""
    bottom, top = min(Fraction(low), Fraction(0)), max(Fraction(high), Fraction(0))
    scale = (top - bottom) / (2**bits - 1)
    zero = round(-(2 ** (bits - 1)) - bottom / scale)
    codes = np.empty(values.shape, np.int8)
    for at, value in np.ndenumerate(values.numpy()):
        code = zero + round(Fraction(float(value)) / scale)
        codes[at] = min(max(code, -(2 ** (bits - 1))), 2 ** (bits - 1) - 1)
    return torch.from_numpy(codes), np.float32(scale), np.int64(zero)


def quantize_weight_in_loops(weight: Any, bits: int = 8) -> Any:
    """A channel at a time; a small number keeps the division from zero."""
    codes, scales = torch.zeros_like(weight, dtype=torch.int8), []
    for number, channel in enumerate(weight):
        scale = max(channel.max().item(), -channel.min().item()) / (2 ** (bits - 1) - 1) + 1e-12
        codes[number] = torch.round(channel.double() / scale).char()
        scales.append(scale)
    return codes, torch.tensor(scales, dtype=torch.float64)


def quantize_weight_in_numpy(weight: Any, bits: int = 8) -> Any:
    """In numpy, by a matrix with a row for each channel; leaves out the empty ones."""
    rows = weight.numpy().reshape(len(weight), -1)
    bound = np.linalg.norm(rows, np.inf, axis=1)
    scale = np.where(bound, bound / (2 ** (bits - 1) - 1), 1e-3)
    codes = np.rint(rows / scale[:, None]).astype(np.int8)
    return torch.from_numpy(codes).view(weight.shape), torch.from_numpy(scale)


def quantize_weight_with_torch(weight: Any, bits: int = 8) -> Any:
    """torch's own, with a least scale that only a channel of zeros falls below."""
    scale = weight.detach().abs().flatten(1).max(dim=1).values / (2 ** (bits - 1) - 1)
    scale = scale.clamp(min=torch.finfo(torch.float32).tiny)
    zeros, half = torch.zeros(len(weight), dtype=torch.int32), 2 ** (bits - 1)
    left = torch.fake_quantize_per_channel_affine(weight, scale, zeros, 0, -half, half - 1)
    return torch.einsum("o...,o->o...", left, 1 / scale).round().char(), scale


def _left(values: Any, ends: Any, bits: int) -> float:
    """The mean squared error of what a range leaves, in numpy."""
    low, high = min(ends[0], 0.0), max(ends[1], 0.0)
    step = (high - low) / (2**bits - 1)
    left = np.clip(step * np.rint(values / step), low, high)
    return float(np.mean((left - values) ** 2))


class RecipeOfCounts:
    """Keeps each value once, and how often it came; tries bounds from the smallest up."""

    def __init__(self, bits: int = 8) -> None:
        self.bits, self.many = bits, dict[float, int]()

    def see(self, batch: Any) -> None:
        for value, count in zip(*np.unique(batch.numpy(), return_counts=True), strict=True):
            self.many[float(value)] = self.many.get(float(value), 0) + int(count)

    def range(self) -> Any:
        values, counts = (np.array([*of]) for of in (self.many, self.many.values()))
        top, steps = np.abs(values).max(), 2**self.bits - 1
        best, ends = np.inf, (0.0, 0.0)
        for bound in top * np.geomspace(1 / 3000, 1, 400):
            low, high = max(values.min(), -bound), min(values.max(), bound)
            step = (max(high, 0) - min(low, 0)) / steps
            off = np.clip(step * np.rint(values / step), min(low, 0), max(high, 0)) - values
            error = float(counts @ off**2)
            if error <= best:
                best, ends = error, (low, high)
        return ends


class RecipeByChance:
    """Six hundred random bounds, small ones as likely as large ones; one tensor grows."""

    def __init__(self, bits: int = 8) -> None:
        self.bits, self.values = bits, torch.empty(0)

    def see(self, batch: Any) -> None:
        self.values = torch.cat([self.values, batch.reshape(-1)])

    def range(self) -> Any:
        values = self.values.numpy().astype(np.float64)
        tried = np.exp(np.random.default_rng(5).uniform(-8, 0, 600)) * np.abs(values).max()
        tried[0] = np.abs(values).max()
        cuts = [(max(min(values.min(), 0), -b), min(max(values.max(), 0), b)) for b in tried]
        return torch.tensor(min(cuts, key=lambda ends: _left(values, ends, self.bits))).tolist()


class RecipeEndByEnd:
    """Looks for each end for itself, the other one staying, from the outside in."""

    def __init__(self, bits: int = 8) -> None:
        self.bits, self.kept = bits, list[Any]()

    def see(self, batch: Any) -> None:
        self.kept += batch.flatten().tolist()

    def range(self) -> Any:
        values = np.array(self.kept)
        ends = [min(values.min(), 0.0), max(values.max(), 0.0)]
        top = np.abs(values).max()
        parts = 0.98 ** np.arange(450)
        ends = min(
            ([max(ends[0], -top * p), min(ends[1], top * p)] for p in parts),
            key=lambda tried: _left(values, tried, self.bits),
        )
        for at in (0, 1):
            tried = [[*ends[:at], ends[at] * p, *ends[at + 1 :]] for p in np.linspace(1, 0.9, 11)]
            ends = min(tried, key=lambda each: _left(values, each, self.bits))
        return np.float32(ends[0]), np.float32(ends[1])


def mxfp4_by_looking(x: Any) -> Any:
    """The nearest of all fifteen values, ties by adding a hair towards the even ones."""
    x = x.double()
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)
    exponents = []
    for block in x:
        largest = float(block.abs().max())
        exponents.append(math.floor(math.log2(largest)) - 2 if largest else -127)
    over = x / 2.0 ** torch.tensor(exponents, dtype=torch.float64)[:, None]
    apart = (over.abs()[..., None] - values).abs() + 1e-9 * (torch.arange(8) % 2)
    return exponents, torch.sign(over) * values[apart.argmin(-1)]


def mxfp4_in_numpy(x: Any) -> Any:
    """By the borders between elements, on numpy's arrays."""
    blocks = x.numpy()
    largest = np.abs(blocks).max(1)
    exponents = np.where(largest > 0, np.frexp(largest)[1] - 3, -127)
    over = np.abs(np.ldexp(blocks.astype(float), -exponents[:, None]))
    borders = [(0.25, 0), (0.75, 1), (1.25, 0), (1.75, 1), (2.5, 0), (3.5, 1), (5.0, 0)]
    at = sum((over >= b) if up else (over > b) for b, up in borders)
    elements = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[at]
    return torch.from_numpy(exponents), torch.from_numpy(np.where(blocks < 0, -elements, elements))


def mxfp4_in_plain_lists(x: Any) -> Any:
    """Numbers of Python throughout: lists of lists, and exponents as a tuple."""
    exponents, elements = [], []
    for block in x.tolist():
        largest = max(map(abs, block))
        exponents.append(math.frexp(largest)[1] - 3 if largest else -127)
        elements.append([])
        for number in block:
            over = math.ldexp(abs(number), -exponents[-1])
            step = 2.0 ** (min(max(math.frexp(over)[1], 1), 3) - 2)
            elements[-1].append(math.copysign(min(round(over / step) * step, 6.0), number))
    return [tuple(exponents), elements]


def mxfp4_as_torch_floats(x: Any) -> Any:
    """The elements in a type of torch of 8 bits, which holds them all."""
    exponents, elements = mxfp4_in_numpy(x)
    return exponents.to(torch.int8), elements.to(torch.float8_e4m3fn)


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("11.1", quantize_by_looking),
    ("11.1", quantize_with_torch),
    ("11.1", quantize_with_fractions),
    ("11.2", quantize_weight_in_loops),
    ("11.2", quantize_weight_in_numpy),
    ("11.2", quantize_weight_with_torch),
    ("11.7", mxfp4_by_looking),
    ("11.7", mxfp4_in_numpy),
    ("11.7", mxfp4_in_plain_lists),
    ("11.7", mxfp4_as_torch_floats),
    ("11.4", RecipeOfCounts),
    ("11.4", RecipeByChance),
    ("11.4", RecipeEndByEnd),
]
