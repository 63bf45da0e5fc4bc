"""Right answers to exercises 11.1, 11.2 and 11.4 that differ from the references."""

from __future__ import annotations

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
    """One value after the other, exactly, in numpy; a zero point that is a float and whole."""
    bottom, top = min(Fraction(low), Fraction(0)), max(Fraction(high), Fraction(0))
    scale = (top - bottom) / (2**bits - 1)
    zero = round(-(2 ** (bits - 1)) - bottom / scale)
    codes = np.empty(values.shape, np.int8)
    for at, value in np.ndenumerate(values.numpy()):
        code = zero + round(Fraction(float(value)) / scale)
        codes[at] = min(max(code, -(2 ** (bits - 1))), 2 ** (bits - 1) - 1)
    return torch.from_numpy(codes), np.float32(scale), float(zero)


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
    """torch's own, with a least scale."""
    scale = weight.detach().abs().flatten(1).max(dim=1).values / (2 ** (bits - 1) - 1)
    scale = scale.clamp(min=torch.finfo(torch.float32).eps)
    zeros, half = torch.zeros(len(weight), dtype=torch.int32), 2 ** (bits - 1)
    left = torch.fake_quantize_per_channel_affine(weight, scale, zeros, 0, -half, half - 1)
    return torch.einsum("o...,o->o...", left, 1 / scale).round().char(), scale


def _error(values: Any, bound: float, bits: int) -> float:
    highest = 2 ** (bits - 1) - 1
    codes = torch.round(values * highest / bound).clamp(-highest, highest)
    return float((codes * bound / highest - values).square().mean())


def bound_all_at_once(values: Any, bits: int = 8) -> Any:
    """A row for each of 150 candidates, in float64; a tensor."""
    highest = 2 ** (bits - 1) - 1
    values = values.double().flatten()
    bounds = values.abs().max() * torch.linspace(0.01, 1, 150, dtype=torch.float64)
    scale = (bounds / highest)[:, None]
    off = torch.round(values / scale).clamp(-highest, highest) * scale - values
    return bounds[(off**2).mean(1).argmin()]


def bound_by_chance(values: Any, bits: int = 8) -> Any:
    """Four hundred random candidates, and the largest magnitude."""
    top = float(values.abs().max())
    tried = torch.rand(400, generator=torch.Generator().manual_seed(5)) * top
    return min([top, *tried.tolist()], key=lambda bound: _error(values, bound, bits))


def bound_by_halving(values: Any, bits: int = 8) -> Any:
    """From the largest magnitude downwards, each step a fiftieth, then closer around the best."""
    top = values.abs().max().item()
    best = min((top * 0.98**n for n in range(220)), key=lambda b: _error(values, b, bits))
    width = best * 0.02
    while width > 1e-4 * best:
        tried = [best, best - width, min(best + width, top)]
        best, width = min(tried, key=lambda b: _error(values, b, bits)), width / 2
    return np.float32(best)


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("11.1", quantize_by_looking),
    ("11.1", quantize_with_torch),
    ("11.1", quantize_with_fractions),
    ("11.2", quantize_weight_in_loops),
    ("11.2", quantize_weight_in_numpy),
    ("11.2", quantize_weight_with_torch),
    ("11.4", bound_all_at_once),
    ("11.4", bound_by_chance),
    ("11.4", bound_by_halving),
]
