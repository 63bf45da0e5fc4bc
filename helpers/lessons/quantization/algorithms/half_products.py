"""bfloat16 rows times a weight of 8-bit codes that stay codes in memory.

What takes the time at a row or a few is to read the weight. A product that reads codes, a byte
each, and makes numbers of them in the processor's registers has a quarter to read of what float32
has. torch has such a product for bfloat16 rows; where it is not quick, the codes become bfloat16
first, in which whole numbers up to 256 are exact.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import linear

WHOLE = 64  # elements of a row that the quick product takes at once; others would be read past it


def rows_by_codes(x: Tensor, codes: Tensor) -> Tensor:
    """x·codesᵀ: (rows, out), bfloat16, summed in float32.

    x: (rows, in), bfloat16. codes: (out, in), int8.
    """
    if x.device.type == "cpu" and codes.shape[1] % WHOLE == 0 and x.numel() and reads_codes():
        ones = torch.ones(len(codes), dtype=torch.bfloat16)
        return torch._weight_int8pack_mm(x.contiguous(), codes, ones)
    return linear(x, codes.to(torch.bfloat16))


@lru_cache
def reads_codes() -> bool:
    """Whether torch has the product that reads codes, and this processor the vectors for it."""
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        return False
    codes = torch.tensor([-128, 127], dtype=torch.int8)[:, None].repeat(1, WHOLE)
    x = torch.ones(1, WHOLE, dtype=torch.bfloat16)
    try:
        found = torch._weight_int8pack_mm(x, codes, torch.ones(2, dtype=torch.bfloat16))
    except (AttributeError, NotImplementedError, RuntimeError):  # a torch without the operation
        return False
    return found.float().tolist() == [[-128.0 * WHOLE, 127.0 * WHOLE]]
