"""The affine map: numbers with a point as whole numbers of few bits, and back.

A grid of codes lies on the number line: code q stands for the value scale · (q − zero_point). The
value 0 is always a code itself, because zeros are everywhere (padding, ReLU) and must cost nothing.
Source: Jacob et al., "Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference" (2018), section 2.1; the choice of ranges: section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Grid:
    """The values that codes of some bits can stand for: scale · (code − zero_point).

    scale: the distance of two neighbours, above 0; 0-d, or 1-d with one for each channel.
    zero_point: the code of the value 0, int32, shaped like scale. bits: 2 to 8. signed: codes
    around 0 (int8) or from 0 on (uint8). narrow: the lowest signed code is left out, so that the
    grid is symmetric, −127 to 127 of 8 bits. axis: the dimension that channels lie along.
    """

    scale: Tensor
    zero_point: Tensor
    bits: int = 8
    signed: bool = True
    narrow: bool = False
    axis: int | None = None

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if self.scale.shape != self.zero_point.shape:
            raise ValueError("A grid has one zero point for each scale.")
        if self.scale.dim() != (self.axis is not None):
            raise ValueError(
                "Give a number as scale and no axis, or one scale for each channel and the axis "
                "that channels lie along."
            )

    @property
    def lowest(self) -> int:
        """The lowest code."""
        return -(2 ** (self.bits - 1)) + self.narrow if self.signed else 0

    @property
    def highest(self) -> int:
        """The highest code."""
        return 2 ** (self.bits - 1) - 1 if self.signed else 2**self.bits - 1

    @property
    def low(self) -> Tensor:
        """The lowest value that has a code."""
        return (self.lowest - self.zero_point) * self.scale

    @property
    def high(self) -> Tensor:
        """The highest value that has a code."""
        return (self.highest - self.zero_point) * self.scale

    @property
    def dtype(self) -> torch.dtype:
        """The type that codes are held in: eight bits each, of which a grid of 4 bits uses half."""
        return torch.int8 if self.signed else torch.uint8

    def quantize(self, values: Tensor) -> Tensor:
        """The nearest code of each value, ties to the even step; beyond the ends, the last code.

        values: any shape, floating; one that is not a number gets any code. Returns codes, int8 or
        uint8, of the same shape.
        """
        scale, zero_point = self.beside(values)
        values = values.to(torch.promote_types(values.dtype, scale.dtype))
        codes = (values / scale).round_().add_(zero_point)
        return codes.clamp_(self.lowest, self.highest).to(self.dtype)

    def dequantize(self, codes: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """The values that codes stand for, in `dtype` (None: the type of the scale).

        A grid's outer code may lie half a step beyond what the type holds: it stands for the end.
        """
        scale, zero_point = self.beside(codes)
        dtype = dtype or scale.dtype
        steps = codes.to(torch.promote_types(dtype, scale.dtype)) - zero_point  # exact
        end = min(torch.finfo(kind).max for kind in (dtype, steps.dtype))
        return steps.mul_(scale).clamp_(-end, end).to(dtype)

    def round_trip(self, values: Tensor) -> Tensor:
        """What is left of values once they went through codes: the nearest values on the grid."""
        return self.dequantize(self.quantize(values), values.dtype)

    def to(self, device: torch.device | str) -> Grid:
        """The same grid with its tensors on a device."""
        moved = self.scale.to(device), self.zero_point.to(device)
        return replace(self, scale=moved[0], zero_point=moved[1])

    def beside(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Scale and zero point, shaped so that they meet the channels of `values`.

        Raises ValueError where the channels are not as many, or the dimension is not there.
        """
        if self.axis is None:
            return self.scale, self.zero_point
        if not -values.dim() <= self.axis < values.dim():
            raise ValueError(
                f"This grid has channels along dimension {self.axis}; the tensor has "
                f"{values.dim()} dimensions."
            )
        channels = values.shape[self.axis]
        if channels != len(self.scale):
            raise ValueError(
                f"This grid is for {len(self.scale)} channels along dimension {self.axis}; the "
                f"tensor has {channels} there."
            )
        shape = [1] * values.dim()
        shape[self.axis] = channels
        return self.scale.view(shape), self.zero_point.view(shape)


def affine_grid(low: float | Tensor, high: float | Tensor, bits: int = 8) -> Grid:
    """The grid from `low` to `high`, widened to hold 0 and shifted so that 0 is a code exactly.

    A range without width, after widening, gets the scale 1. Every value of the range is at most
    half a step from the grid. Raises ValueError for a range that is not finite or ends below its
    beginning.
    """
    check_bits(bits)
    low, high = _ends(low, high)
    low, high = low.clamp(max=0), high.clamp(min=0)
    steps = 2**bits - 1
    scale = _no_zeros(high / steps - low / steps)  # high − low itself may be beyond the type
    lowest = -(2 ** (bits - 1))
    zero_point = (lowest - torch.round(low / scale)).to(torch.int32)
    return Grid(scale, zero_point.clamp(lowest, lowest + steps), bits)


def quantize(values: Tensor, low: float, high: float, bits: int = 8) -> tuple[Tensor, float, int]:
    """Signed codes of values on the grid from `low` to `high`, and that grid as two numbers.

    values: any shape, floating. low, high: numbers; the range is widened to hold 0, and one that
    has no width then gets the scale 1. bits: 2 to 8. Returns: codes (int8, shaped like values;
    beyond the ends, the last code), the scale (high − low)/(2^bits − 1), and the zero point. It is
    the grid of `affine_grid`, but for the last digit of the scale. Raises ValueError for a range
    that is not finite or ends below its beginning, and for other bits. Jacob et al. (2018),
    section 2.1.
    Example: with −10 … 30 and 8 bits the scale is 0.157, the zero point −64; 10.0 has the code 0.
    """
    check_bits(bits)
    if not (low <= high and math.isfinite(high - low)):
        raise ValueError(
            f"A range goes from a finite low end up to its high end, not {low}, {high}."
        )
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (2**bits - 1) or 1.0
    zero_point = -(2 ** (bits - 1)) - round(low / scale)
    dtype = torch.promote_types(values.dtype, torch.float32)
    grid = Grid(torch.tensor(scale, dtype=dtype), torch.tensor(zero_point, dtype=torch.int32), bits)
    return grid.quantize(values), scale, zero_point


def symmetric_grid(bound: float | Tensor, bits: int = 8, axis: int | None = None) -> Grid:
    """The grid from −bound to bound with the zero point 0: codes −127 to 127 of 8 bits.

    bound: a number of at least 0, or a 1-d tensor with one for each channel along `axis`; 0 gets
    the scale 1. The code −128 stays unused, so that a value and its negative are treated alike.
    """
    check_bits(bits)
    _, bound = _ends(0.0, bound)
    scale = _no_zeros(bound / (2 ** (bits - 1) - 1))
    return Grid(scale, torch.zeros_like(scale, dtype=torch.int32), bits, narrow=True, axis=axis)


def weight_grid(weight: Tensor, bits: int = 8) -> Grid:
    """A symmetric grid for a weight, with a scale for each channel; these lie along dimension 0.

    The bound is the channel's largest magnitude. It is nearly always better than that of all
    channels, but not always: values that happen to lie on the shared grid lose by moving to their
    own. So a channel keeps the shared scale where that has the smaller squared error, and one scale
    for each channel is never worse than one for all of them. Raises ValueError for numbers that are
    not finite.
    """
    check_values(weight)
    rows = weight.detach().flatten(1)
    ends = rows.abs().amax(1)
    own = symmetric_grid(ends, bits, axis=0)
    shared = replace(own, scale=symmetric_grid(ends.amax(), bits).scale.expand_as(own.scale))
    errors = [(grid.round_trip(rows) - rows).double().square().sum(1) for grid in (own, shared)]
    return replace(own, scale=torch.where(errors[0] <= errors[1], own.scale, shared.scale))


def squared_error(values: Tensor, grid: Grid) -> float:
    """The mean squared difference of values and what the grid leaves of them; 0 for no values."""
    if not values.numel():
        return 0.0
    return float((grid.round_trip(values) - values).double().square().mean())


def check_bits(bits: int) -> None:
    """Raise ValueError where a number of bits is none that a grid can have."""
    if not isinstance(bits, int) or not 2 <= bits <= 8:
        raise ValueError(f"A code has 2 to 8 bits, not {bits!r}.")


def _ends(low: float | Tensor, high: float | Tensor) -> tuple[Tensor, Tensor]:
    """Both ends of a range as tensors of one floating type, after a look at them."""
    given = [torch.as_tensor(end).detach() for end in (low, high)]
    dtype = torch.promote_types(*(end.dtype for end in given))
    dtype = torch.promote_types(dtype, torch.float32)  # a scale of half precision is too coarse
    on = given[1].device
    ends = [end.to(on, dtype) for end in given]
    if not all(end.isfinite().all() for end in ends):
        raise ValueError(
            "A range ends at finite numbers. Something not a number, or infinite, was among the "
            "values that it was taken from: find it before quantizing."
        )
    if (ends[0] > ends[1]).any():
        raise ValueError(
            f"A range goes from its low end up to its high end, not from {low} to {high}."
        )
    return ends[0], ends[1]


def _no_zeros(scale: Tensor) -> Tensor:
    """1 where a scale is zero, or so small that its type keeps no full precision there."""
    return torch.where(scale < torch.finfo(scale.dtype).tiny, torch.ones_like(scale), scale)


def check_values(values: Tensor) -> None:
    """Raise TypeError or ValueError where values are no finite numbers with a point."""
    if not isinstance(values, Tensor) or not values.is_floating_point():
        raise TypeError("Only a tensor of floating-point numbers can be quantized.")
    ends = values.detach().aminmax() if values.numel() else ()
    if not all(end.isfinite() for end in ends):  # quicker than a look at every value
        raise ValueError("The tensor holds something not a number, or infinite: find it first.")
