"""Wrong answers to exercise 11.1, the ones that people really write."""

from __future__ import annotations

from typing import Any

import torch


def _grid(low: float, high: float, bits: int) -> tuple[float, float, int]:
    """Scale, the zero point before rounding, and the lowest code."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (2**bits - 1)
    lowest = -(2 ** (bits - 1))
    return scale, lowest - low / scale, lowest


def _held(codes: Any, lowest: int) -> Any:
    return codes.clamp(lowest, -lowest - 1).to(torch.int8)


def between(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """The zero point as it comes."""
    scale, zero, lowest = _grid(low, high, bits)
    return _held(torch.round(values / scale + zero), lowest), scale, zero


def zero_cut(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """int() on the steps from the low end to 0."""
    scale, _, lowest = _grid(low, high, bits)
    zero = lowest + int(-min(low, 0.0) / scale)
    return _held(torch.round(values / scale) + zero, lowest), scale, zero


def not_widened(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """The range as it is given."""
    scale, lowest = (high - low) / (2**bits - 1), -(2 ** (bits - 1))
    zero = max(lowest, min(-lowest - 1, lowest - round(low / scale)))
    return _held(torch.round(values / scale) + zero, lowest), scale, zero


def one_step_too_many(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """(high − low)/2^bits."""
    low, high, lowest = min(low, 0.0), max(high, 0.0), -(2 ** (bits - 1))
    scale = (high - low) / 2**bits
    zero = lowest - round(low / scale)
    return _held(torch.round(values / scale) + zero, lowest), scale, zero


def cut(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """Turns to int8 without rounding."""
    scale, zero, lowest = _grid(low, high, bits)
    return _held(values / scale + round(zero), lowest), scale, round(zero)


def not_clamped(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """int8 wraps around."""
    scale, zero, _ = _grid(low, high, bits)
    codes = torch.round(values / scale) + round(zero)
    return codes.to(torch.int32).to(torch.int8), scale, round(zero)


def sign(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """The zero point on the other side."""
    scale, _, lowest = _grid(low, high, bits)
    zero = lowest + round(min(low, 0.0) / scale)
    return _held(torch.round(values / scale) + zero, lowest), scale, zero


def symmetric(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """The largest magnitude by 127."""
    lowest = -(2 ** (bits - 1))
    scale = max(abs(low), abs(high)) / (-lowest - 1)
    return _held(torch.round(values / scale), lowest), scale, 0


def unsigned(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """Codes 0 to 255, which need 16 bits where there is a sign."""
    scale, zero, lowest = _grid(low, high, bits)
    zero = round(zero) - lowest
    codes = (torch.round(values / scale) + zero).clamp(0, 2**bits - 1)
    return codes.to(torch.int16), scale, zero


def clamped_first(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """Clamps the steps and not the codes."""
    scale, zero, lowest = _grid(low, high, bits)
    steps = torch.round(values / scale).clamp(lowest, -lowest - 1)
    return (steps + round(zero)).to(torch.int32).to(torch.int8), scale, round(zero)


def own_ends(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """Takes the values' own range."""
    scale, zero, lowest = _grid(float(values.min()), float(values.max()), bits)
    return _held(torch.round(values / scale) + round(zero), lowest), scale, round(zero)


def from_the_low_end(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """Steps from the low end, which lies between two codes."""
    scale, zero, lowest = _grid(low, high, bits)
    codes = torch.round((values - min(low, 0.0)) / scale) + lowest
    return _held(codes, lowest), scale, round(zero)


def eight_bits(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """Does not look at the bits."""
    scale, zero, lowest = _grid(low, high, 8)
    return _held(torch.round(values / scale) + round(zero), lowest), scale, round(zero)


def eight_bit_ends(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """The right grid, and int8's own ends."""
    scale, zero, _ = _grid(low, high, bits)
    return _held(torch.round(values / scale) + round(zero), -128), scale, round(zero)


def floats(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """Whole numbers, still as floats."""
    scale, zero, lowest = _grid(low, high, bits)
    codes = torch.round(values / scale) + round(zero)
    return codes.clamp(lowest, -lowest - 1), scale, round(zero)


def in_place(values: Any, low: float, high: float, bits: int = 8) -> Any:
    """Works in the caller's tensor."""
    scale, zero, lowest = _grid(low, high, bits)
    values.div_(scale).round_().add_(round(zero)).clamp_(lowest, -lowest - 1)
    return values.to(torch.int8), scale, round(zero)
