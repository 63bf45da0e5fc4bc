"""Wrong answers to exercise 11.2, the ones that people really write."""

from __future__ import annotations

from typing import Any

import torch


def _per_channel(weight: Any) -> Any:
    """The largest magnitude of each channel, shaped to divide the weight by; 1 for zeros."""
    bound = weight.abs().amax(tuple(range(1, weight.dim())), keepdim=True)
    return torch.where(bound == 0, torch.ones_like(bound), bound)


def _codes(weight: Any, scale: Any, bits: int) -> Any:
    highest = 2 ** (bits - 1) - 1
    return torch.round(weight / scale).clamp(-highest, highest).to(torch.int8)


def for_convolutions_alone(weight: Any, bits: int = 8) -> Any:
    """Takes the largest over three dimensions."""
    bound = weight.abs().amax((1, 2, 3), keepdim=True)
    scale = torch.where(bound == 0, torch.ones_like(bound), bound) / (2 ** (bits - 1) - 1)
    return _codes(weight, scale, bits), scale.flatten()


def one_for_all(weight: Any, bits: int = 8) -> Any:
    """The largest magnitude of all."""
    scale = weight.abs().max() / (2 ** (bits - 1) - 1)
    return _codes(weight, scale, bits), scale.repeat(len(weight))


def without_abs(weight: Any, bits: int = 8) -> Any:
    """The largest value."""
    bound = weight.amax(tuple(range(1, weight.dim())), keepdim=True)
    scale = torch.where(bound == 0, torch.ones_like(bound), bound) / (2 ** (bits - 1) - 1)
    return _codes(weight, scale, bits), scale.flatten()


def one_code_too_many(weight: Any, bits: int = 8) -> Any:
    """By 128, so that the largest one needs the code 128."""
    scale = _per_channel(weight) / 2 ** (bits - 1)
    codes = torch.round(weight / scale).to(torch.int32).to(torch.int8)
    return codes, scale.flatten()


def other_dimension(weight: Any, bits: int = 8) -> Any:
    """The largest along dimension 0, which leaves the inputs."""
    scale = weight.abs().amax(0).clamp(min=1e-6) / (2 ** (bits - 1) - 1)
    return _codes(weight, scale, bits), scale


def by_zero(weight: Any, bits: int = 8) -> Any:
    """0/0 in a channel of zeros."""
    bound = weight.abs().amax(tuple(range(1, weight.dim())), keepdim=True)
    scale = bound / (2 ** (bits - 1) - 1)
    return _codes(weight, scale, bits), scale.flatten()


def kept_dimensions(weight: Any, bits: int = 8) -> Any:
    """Scales as they were divided by."""
    scale = _per_channel(weight) / (2 ** (bits - 1) - 1)
    return _codes(weight, scale, bits), scale


def floats(weight: Any, bits: int = 8) -> Any:
    """Whole numbers, still as floats."""
    scale = _per_channel(weight) / (2 ** (bits - 1) - 1)
    return torch.round(weight / scale), scale.flatten()


def cut(weight: Any, bits: int = 8) -> Any:
    """Turns to int8 without rounding."""
    scale = _per_channel(weight) / (2 ** (bits - 1) - 1)
    return (weight / scale).to(torch.int8), scale.flatten()


def one_dimension(weight: Any, bits: int = 8) -> Any:
    """Right for a linear layer; for a convolution a scale for each place of the kernel."""
    bound = weight.abs().amax(1, keepdim=True)
    scale = torch.where(bound == 0, torch.ones_like(bound), bound) / (2 ** (bits - 1) - 1)
    return _codes(weight, scale, bits), scale.squeeze(1)


def eight_bits(weight: Any, bits: int = 8) -> Any:
    """Does not look at the bits."""
    scale = _per_channel(weight) / 127
    return torch.round(weight / scale).to(torch.int8), scale.flatten()


def all_codes(weight: Any, bits: int = 8) -> Any:
    """By 255."""
    scale = _per_channel(weight) / (2**bits - 1)
    return _codes(weight, scale, bits), scale.flatten()


def from_end_to_end(weight: Any, bits: int = 8) -> Any:
    """The width by 255, as in the exercise before."""
    over = tuple(range(1, weight.dim()))
    width = weight.amax(over, keepdim=True) - weight.amin(over, keepdim=True)
    scale = width.clamp(min=1e-6) / (2**bits - 1)
    return _codes(weight, scale, bits), scale.flatten()


def weights_back(weight: Any, bits: int = 8) -> Any:
    """Rounded weights."""
    scale = _per_channel(weight) / (2 ** (bits - 1) - 1)
    return torch.round(weight / scale) * scale, scale.flatten()


def in_place(weight: Any, bits: int = 8) -> Any:
    """Divides the caller's weight."""
    scale = _per_channel(weight) / (2 ** (bits - 1) - 1)
    return weight.div_(scale).round_().to(torch.int8), scale.flatten()
