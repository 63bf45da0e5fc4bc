"""Quick products with a weight of 8-bit codes on x86 processors without VNNI: inputs of 7 bits.

The instruction that AVX2 has for 8-bit numbers multiplies unsigned by signed ones and sums up
pairs of products in 16 bits. 255 · 128 · 2 is too large for them, 127 · 128 · 2 is not: with one
bit less on the left all sums are exact. FBGEMM is the library in torch that is written around it;
it wants the weight packed in its own order, once. Source: Khudia et al., "FBGEMM: Enabling
High-Performance Low-Precision Deep Learning Inference" (2021).
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

HIGHEST = 63  # of the codes on the left, which have 7 bits: from −64 on
MIDDLE = 64  # their zero point as unsigned numbers
LONGEST = (2**31 - 1) // (127 * 128)  # the longest sums that surely fit 32 bits


class PackedWeight:
    """A weight in FBGEMM's order; make one with `pack`.

    codes: int8, (out, in), on the CPU. scale: float32, (out,) or 0-d.
    """

    def __init__(self, codes: Tensor, scale: Tensor) -> None:
        self.codes, self.scale = codes, scale
        self._packed = _in_order(codes, scale)

    def products(self, x: Tensor) -> Tensor:
        """s_w Σ q_w q_x, float32, (rows, out): floats are made of sums that are exact.

        x: (rows, in), whole numbers from −64 to 63 held as float32. Raises ValueError where its
        rows are not as long as the weight's.
        """
        if x.shape[1] != self.codes.shape[1]:
            raise ValueError(
                f"Codes of {tuple(x.shape)} do not meet a weight of {tuple(self.codes.shape)}: "
                "give (rows, in) for (out, in)."
            )
        # The operation makes codes of floats itself, here in steps of 1.
        multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        found: Tensor = multiply(x, 1.0, MIDDLE, self._packed)
        return found

    def __reduce__(self) -> tuple[Any, tuple[Tensor, Tensor]]:
        """Copies and files hold the codes only; they are packed where they are read."""
        return pack, (self.codes, self.scale)


def pack(codes: Tensor, scale: Tensor) -> PackedWeight | None:
    """A weight of int8 codes, (out, in), packed; None where that would win nothing or not be exact.

    scale: of the channels, (out,), or 0-d. There is nothing to win on processors with VNNI or AMX,
    on those that are not x86, and on GPUs. Scales of other types than float32 would be rounded, and
    sums that are too long could leave 32 bits.
    """
    fits = codes.numel() and codes.shape[1] <= LONGEST and scale.dtype == torch.float32
    if codes.device.type != "cpu" or not fits or not takes_seven_bits():
        return None
    return PackedWeight(codes, scale)


@lru_cache
def takes_seven_bits() -> bool:
    """Whether products with 7-bit inputs are this processor's quick ones, and FBGEMM is here."""
    if torch.cpu._is_vnni_supported() or torch.cpu._is_amx_tile_supported():
        return False
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        return False
    codes = torch.tensor([-128, 127], dtype=torch.int8).repeat_interleave(64)[:, None].repeat(1, 64)
    x = torch.tensor([-64.0, 63.0])[:, None].repeat(1, 64)
    try:
        found = PackedWeight(codes, torch.tensor(1.0)).products(x)
    except (AttributeError, NotImplementedError, RuntimeError):  # a torch without the operation
        return False
    return torch.equal(found.double(), x.double() @ codes.double().t())


def _in_order(codes: Tensor, scale: Tensor) -> Any:
    """The weight as FBGEMM wants it, with the zero point 0."""
    scales = scale.double().expand(len(codes)).contiguous()
    zeros = torch.zeros(len(codes), dtype=torch.int64)
    engine = torch.backends.quantized.engine
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch means to replace tensors of quantized types
        weight = torch._make_per_channel_quantized_tensor(codes, scales, zeros, 0)
        torch.backends.quantized.engine = "fbgemm"
        try:
            return torch.ops.quantized.linear_prepack(weight, None)
        finally:
            torch.backends.quantized.engine = engine
