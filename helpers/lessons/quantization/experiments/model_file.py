"""A model's numbers in a file, codes packed: what a quantized model weighs on disk.

The file is of the safetensors format: a header (JSON) with names, types and shapes, then the
tensors as they are in memory. Codes of 8 bits are in it as they are; those of fewer bits are packed
into bytes, and the header says what they were.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.packing import pack, packed_bytes, unpack

PACKED = "packed"  # in the header: the bits and the shape of each tensor of packed codes
GRIDS = "grids"  # in the header: the bits of the codes that go into and out of each layer


def size_bytes(model: nn.Module) -> int:
    """Bytes of all numbers that a model has to keep, codes packed; without the file's header."""
    return sum(_nbytes(tensor, bits) for tensor, bits in _stored(model).values())


def save(model: nn.Module, path: str | Path) -> int:
    """Write a model's numbers to a file. Returns its size in bytes."""
    tensors, packed = {}, {}
    for name, (tensor, bits) in _stored(model).items():
        tensor = tensor.detach().cpu()
        if bits:
            packed[name] = [bits, *tensor.shape]
            tensor = pack(tensor, bits)
        # Grids that layers share are one tensor in memory, which the format refuses.
        tensors[name] = tensor.contiguous().clone()
    told = {PACKED: packed, GRIDS: _grids(model)}
    header = {name: json.dumps(what, separators=(",", ":")) for name, what in told.items() if what}
    save_file(tensors, path, header or None)
    return Path(path).stat().st_size


def load(model: nn.Module, path: str | Path) -> None:
    """Read a file's numbers into a model of the same layers, converted in the same way.

    Raises ValueError where the file is none of these, or its names, types or shapes are not the
    model's.
    """
    numbers, grids = _read(Path(path))
    wanted = _stored(model)
    if grids != _grids(model):
        raise ValueError("The file is of another model than this one: activations' bits differ.")
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
    """Every tensor to keep, once, by name, with the bits of codes to pack, or 0."""
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
                # Codes of 8 bits fill their bytes already.
                found[f"{prefix}.{name}".lstrip(".")] = (tensor, bits.get(name, 8) % 8)
    return found


def _grids(model: nn.Module) -> dict[str, dict[str, int]]:
    """The bits of the codes between layers, by layer: nothing else in a file tells them."""
    parts = {name: getattr(module, "grid_bits", None) for name, module in model.named_modules()}
    return {name: bits for name, bits in parts.items() if bits}


def _nbytes(tensor: Tensor, bits: int) -> int:
    count = tensor.numel()
    return packed_bytes(count, bits) if bits else count * tensor.element_size()


def _read(path: Path) -> tuple[dict[str, tuple[Tensor, int]], dict[str, dict[str, int]]]:
    """Every tensor of a file, codes unpacked, with their bits, or 0; and the bits of the grids."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors: dict[str, Tensor] = file.get_tensors()
            header = file.metadata() or {}
            packed, grids = (json.loads(header.get(name, "{}")) for name in (PACKED, GRIDS))
    except SafetensorError as error:
        raise ValueError(f"{path.name} is no file that save() has written: {error}.") from error
    numbers = {name: (tensor, 0) for name, tensor in tensors.items()}
    for name, (bits, *shape) in packed.items():
        numbers[name] = (unpack(tensors[name], bits, shape), bits)
    return numbers, grids
