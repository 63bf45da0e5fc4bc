"""A model's numbers in a file, codes packed: what a quantized model weighs on disk.

The file is of the safetensors format: a header (JSON) with names, types and shapes, then the
tensors as they are in memory. Codes of 8 bits are in it as they are; those of fewer bits are packed
into bytes, two of 4 bits in one, four of 6 bits in three, and the header says what they were.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn


def save(model: nn.Module, path: str | Path) -> int:
    """Write a model's numbers to a file. Returns its size in bytes."""
    tensors, packed = {}, {}
    seen: set[int] = set()  # of parameters: layers may share them
    for prefix, module in model.named_modules():
        bits: dict[str, int] = getattr(module, "code_bits", {})
        for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
            if tensor is None or id(tensor) in seen or name in module._non_persistent_buffers_set:
                continue
            if isinstance(tensor, nn.Parameter):
                seen.add(id(tensor))
            full, tensor = f"{prefix}.{name}".lstrip("."), tensor.detach().cpu()
            if bits.get(name, 8) < 8:
                packed[full] = [bits[name], *tensor.shape]
                tensor = pack(tensor, bits[name])
            # Grids that layers share are one tensor in memory, which the format refuses.
            tensors[full] = tensor.contiguous().clone()
    header = {"packed": json.dumps(packed, separators=(",", ":"))} if packed else None
    save_file(tensors, path, header)
    return Path(path).stat().st_size


def pack(codes: Tensor, bits: int) -> Tensor:
    """Signed codes, int8, as a stream of bits in bytes, 1-d uint8, lowest bit first.

    Each is to lie between −2^(bits−1) and 2^(bits−1) − 1.
    """
    from_zero = (codes.flatten().to(torch.int16) + 2 ** (bits - 1)).to(torch.uint8)
    ones = (from_zero[:, None] >> torch.arange(bits, dtype=torch.uint8) & 1).flatten()
    stream = torch.nn.functional.pad(ones, (0, -len(ones) % 8)).view(-1, 8)
    return (stream << torch.arange(8, dtype=torch.uint8)).sum(1, dtype=torch.uint8)
