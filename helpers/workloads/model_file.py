"""A model's numbers in a file, codes packed: what a quantized model weighs on disk.

The file is a header (JSON, compressed: names, types and shapes), and then the tensors one after the
other, as they are in memory. Codes of fewer than eight bits are packed.
"""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from helpers.algorithms.packing import pack, packed_bytes, unpack

MAGIC = b"course model 1\n"


def size_bytes(model: nn.Module) -> int:
    """Bytes of all numbers that a model has to keep, codes packed; without the file's header."""
    return sum(_nbytes(tensor, bits) for tensor, bits in _stored(model).values())


def save(model: nn.Module, path: str | Path) -> int:
    """Write a model's numbers to a file. Returns its size in bytes."""
    header, chunks = [], []
    for name, (tensor, bits) in _stored(model).items():
        tensor = tensor.detach().cpu()
        stored = pack(tensor, bits) if bits else tensor.contiguous()
        header.append([name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape), bits])
        chunks.append(stored.flatten().view(torch.uint8).numpy().tobytes())
    told = zlib.compress(json.dumps(header, separators=(",", ":")).encode(), 9)
    parts = [MAGIC, len(told).to_bytes(4, "little"), told, *chunks]
    return Path(path).write_bytes(b"".join(parts))


def load(model: nn.Module, path: str | Path) -> None:
    """Read a file's numbers into a model of the same layers, converted in the same way.

    Raises ValueError where the file is none of these, or its names, types or shapes are not the
    model's.
    """
    numbers = _read(Path(path))
    wanted = _stored(model)
    if {n: (t.dtype, t.shape, b) for n, (t, b) in wanted.items()} != {
        n: (t.dtype, t.shape, b) for n, (t, b) in numbers.items()
    }:
        differing = ", ".join(sorted(wanted.keys() ^ numbers.keys())[:3])
        why = f"only one has {differing}" if differing else "types, shapes or bits differ"
        raise ValueError(f"The file is of another model than this one: {why}.")
    with torch.no_grad():
        for name, (tensor, _) in wanted.items():
            tensor.copy_(numbers[name][0])
    for module in model.modules():
        derive: Any = getattr(module, "derive", None)
        if derive is not None:
            derive()


def _stored(model: nn.Module) -> dict[str, tuple[Tensor, int]]:
    """Every tensor to keep, once, by name, with the bits of its codes, or 0 for plain numbers."""
    found: dict[str, tuple[Tensor, int]] = {}
    seen: set[int] = set()  # of parameters: layers may share them
    for prefix, module in model.named_modules():
        bits: dict[str, int] = getattr(module, "code_bits", {})
        for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
            if tensor is None or id(tensor) in seen:
                continue
            if isinstance(tensor, nn.Parameter):
                seen.add(id(tensor))
            if name not in module._non_persistent_buffers_set:
                found[f"{prefix}.{name}".lstrip(".")] = (tensor, bits.get(name, 0))
    return found


def _nbytes(tensor: Tensor, bits: int) -> int:
    count = tensor.numel()
    return packed_bytes(count, bits) if bits else count * tensor.element_size()


def _read(path: Path) -> dict[str, tuple[Tensor, int]]:
    content = path.read_bytes()
    start = len(MAGIC) + 4
    if not content.startswith(MAGIC):
        raise ValueError(f"{path.name} is no file that save() has written.")
    end = start + int.from_bytes(content[len(MAGIC) : start], "little")
    header: list[Any] = json.loads(zlib.decompress(content[start:end]))
    numbers = {}
    for name, kind, shape, bits in header:
        dtype = getattr(torch, kind)
        count = packed_bytes(math.prod(shape), bits) if bits else math.prod(shape) * dtype.itemsize
        raw = _bytes(content[end : end + count])
        plain = unpack(raw, bits, shape) if bits else raw.view(dtype).view(shape)
        numbers[name] = (plain, bits)
        end += count
    return numbers


def _bytes(content: bytes) -> Tensor:
    if not content:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)
