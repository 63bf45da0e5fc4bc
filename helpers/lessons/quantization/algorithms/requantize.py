"""From 32-bit sums back to 8-bit codes, with whole numbers only.

A sum counts in steps of s_x · s_w, an output in steps of s_y: the sum is to be multiplied by
M = s_x · s_w / s_y, a real number. A fixed-point multiplier does it with a product and a shift:
M ≈ mantissa / 2^shift. Source: Jacob et al. (2018), section 2.2, equations 5 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from helpers.lessons.quantization.algorithms.quantization import Grid

MANTISSA_BITS = 31


@dataclass(frozen=True)
class Multiplier:
    """A positive real number, or one for each channel, as mantissa / 2^shift.

    mantissa: int64, at least 2^30 and below 2^31. shift: int64 of the same shape, 0 to 62.
    Relative to the real number the error is at most 2^−31; powers of two are met exactly.
    """

    mantissa: Tensor
    shift: Tensor

    @classmethod
    def of(cls, real: Tensor) -> Multiplier:
        """The nearest multiplier; `real`: 0-d or 1-d, above 0 and below 2^30.

        One below 2^−32 turns every 32-bit sum into 0 and is held as 0. Raises ValueError for
        what is not above zero, or too large to be a ratio of scales that fit each other.
        """
        real = real.double()
        if not ((real > 0) & (real < 2**30)).all():
            raise ValueError(
                "A multiplier is above 0 and below 2^30: the output's scale does not fit the "
                "sums. Calibrate on inputs like those that the model will see."
            )
        fraction, exponent = torch.frexp(real)  # real = fraction · 2^exponent, fraction ≥ 0.5
        mantissa = torch.round(fraction * 2**MANTISSA_BITS).to(torch.int64)
        shift = MANTISSA_BITS - exponent.to(torch.int64)
        carried = mantissa == 2**MANTISSA_BITS  # rounded up to the next power of two
        mantissa, shift = torch.where(carried, mantissa // 2, mantissa), shift - carried.long()
        return cls(torch.where(shift > 62, 0, mantissa), shift.clamp(max=62))

    def times(self, sums: Tensor) -> Tensor:
        """`sums` times the number, rounded to whole numbers, ties to the even one.

        sums: int32, (…, channels). Returns int64 of the same shape. A product has at most 62 bits,
        so nothing is lost before the one rounding at the end.
        """
        product = sums.to(torch.int64) * self.mantissa
        some = (self.shift > 0).long()
        below = (some << (self.shift - some)) - some  # half less one; 0 without a shift
        odd = (product >> self.shift).bitwise_and_(some)
        return product.add_(odd).add_(below).bitwise_right_shift_(self.shift)


def requantize(sums: Tensor, multiplier: Multiplier, grid: Grid) -> Tensor:
    """The codes of `grid`, one for the whole tensor, that 32-bit sums stand for.

    Equal to `grid.quantize` of the real values wherever the multiplier is met exactly, and
    otherwise except for values within 2^−31 of a tie. The clamp is a ReLU at no cost where the
    grid's lowest value is 0 (Jacob et al., section 2.4).
    """
    codes = multiplier.times(sums) + grid.zero_point
    return codes.clamp(grid.lowest, grid.highest).to(grid.dtype)
