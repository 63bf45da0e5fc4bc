"""Tensors of every framework as a header and plain bytes, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Header(NamedTuple):
    """What a message carries. kind: "torch", "numpy" or "tensorflow"; dtype: its name there."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int

    def __str__(self) -> str:
        shape = ", ".join(map(str, self.shape)) + ("," if len(self.shape) == 1 else "")
        return f"({shape}) {self.dtype}"


def pack(tensor: Any) -> tuple[Header, np.ndarray]:
    """A tensor's header and its bytes as a flat uint8 array, which shares memory where it can.

    Raises TypeError for anything that is not a tensor.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        if not _whole(torch, tensor):
            raise _not_sendable(tensor)
        data = memory_of(tensor.detach().cpu().resolve_conj().resolve_neg().contiguous())
        dtype = str(tensor.dtype).removeprefix("torch.")
        return Header("torch", dtype, tuple(tensor.shape), data.nbytes), data
    tensorflow = sys.modules.get("tensorflow")
    kind = "numpy"
    if tensorflow is not None and isinstance(tensor, tensorflow.Tensor | tensorflow.Variable):
        tensor, kind = tensor.numpy(), "tensorflow"
    masked = isinstance(tensor, np.ma.MaskedArray)
    if isinstance(tensor, np.ndarray | np.generic) and _plain(tensor.dtype) and not masked:
        array = np.asarray(tensor, tensor.dtype.newbyteorder("="))
        data = memory_of(np.ascontiguousarray(array))
        return Header(kind, array.dtype.name, array.shape, data.nbytes), data
    raise _not_sendable(tensor)


def memory_of(tensor: Any) -> np.ndarray:
    """The memory of a contiguous CPU tensor or array, as a flat uint8 array that shares it."""
    flat = tensor.reshape(-1)
    if not len(flat):
        return np.empty(0, np.uint8)
    # One element may have any stride; its bytes can be looked at only where that is 1.
    if isinstance(flat, np.ndarray):
        if flat.strides != (flat.itemsize,):
            flat = np.lib.stride_tricks.as_strided(flat, strides=(flat.itemsize,))
        return flat.view(np.uint8)
    import torch

    if flat.stride(0) != 1:
        flat = flat.as_strided(flat.shape, (1,))
    data: np.ndarray = flat.view(torch.uint8).numpy()
    return data


def _plain(dtype: np.dtype[Any]) -> bool:
    """Whether a name says all of an array's type: numbers, also those that TensorFlow adds."""
    return dtype.kind in "biufc" or dtype.type.__module__ == "ml_dtypes"


def _whole(torch: Any, tensor: Any) -> bool:
    """Whether a header and bytes say all of a torch tensor."""
    dense = tensor.layout is torch.strided and tensor.device.type != "meta"
    plain = not (tensor.is_quantized or tensor.is_nested)
    return dense and plain and type(tensor) in (torch.Tensor, torch.nn.Parameter)


def _not_sendable(value: Any) -> TypeError:
    what = f"{'' if type(value).__module__ == 'builtins' else 'a '}{type(value).__name__}"
    kinds = [kind for kind in ("quantized", "nested") if getattr(value, f"is_{kind}", False)]
    if getattr(value, "is_meta", False):
        kinds.append("meta")
    if kinds:
        what = f"a {kinds[0]} tensor"
    elif hasattr(value, "dtype"):
        what += f" of {getattr(value, 'layout', value.dtype)}"
    return TypeError(
        f"Only dense tensors and arrays of numbers can be sent, not {what}. Wrap a number as "
        "torch.tensor(3.0); send what a container holds one by one."
    )


def snapshot(tensor: Any) -> tuple[Header, Any]:
    """A tensor's header and a copy of it on the CPU, of its own kind, apart from any gradient.

    Raises TypeError for anything that is not a tensor. A TensorFlow one becomes a numpy array.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        if not _whole(torch, tensor):
            raise _not_sendable(tensor)
        copy = tensor.detach().clone(memory_format=torch.contiguous_format)
        return describe(copy), copy.cpu()
    header, data = pack(tensor)
    copy, target = empty(header)
    target[:] = data
    return header, copy


def empty(header: Header) -> tuple[Any, np.ndarray]:
    """A new tensor for a header, and its bytes as a flat uint8 array to fill.

    A TensorFlow tensor cannot be written to: its numpy array stands in until `finish`.
    """
    if header.kind == "torch":
        import torch

        tensor = torch.empty(header.shape, dtype=getattr(torch, header.dtype))
        return tensor, memory_of(tensor)
    array = np.empty(header.shape, np.dtype(header.dtype))
    return array, memory_of(array)


def finish(header: Header, tensor: Any, device: Any) -> Any:
    """A filled tensor as the receiver gets it: its own kind, on its device."""
    if header.kind == "tensorflow":
        import tensorflow as tf

        return tf.constant(tensor)
    if header.kind == "torch" and getattr(device, "type", "cpu") != "cpu":
        return tensor.to(device)
    return tensor


def received(
    header: Header, into: Any, who: str, device: Any, fill: Callable[[np.ndarray], None]
) -> Any:
    """The tensor of a message that `fill` writes: `into`, where there is one, or a new one.

    who: starts the sentence of the ValueError where `into` does not fit; nothing is filled then.
    """
    value, target = into, None
    if into is not None:
        target = writable(into, header, who)
    if target is None:
        value, target = empty(header)
    fill(target)
    if into is None:
        return finish(header, value, device)
    if value is not into:
        store(into, value)
    return into


def writable(into: Any, header: Header, who: str) -> np.ndarray | None:
    """The bytes of a tensor to receive into, or None where it has to be filled by a copy.

    Raises ValueError where shape or type differ from what was sent. who: starts the sentence.
    """
    if not isinstance(into, np.ndarray) and not hasattr(into, "is_contiguous"):
        raise ValueError(
            f"{who} sent {header}, but it is to be received into a {type(into).__name__}: "
            "give a torch tensor or a numpy array."
        )
    mine = describe(into)
    if (mine.dtype, mine.shape) != (header.dtype, header.shape):
        raise ValueError(f"{who} sent {header}, but it is to be received into {mine}.")
    if isinstance(into, np.ndarray):
        return memory_of(into) if into.flags.c_contiguous else None
    if into.device.type != "cpu" or not into.is_contiguous() or not into.numel():
        return None
    return None if into.is_conj() or into.is_neg() else memory_of(into.detach())


class Packed:
    """A tensor that is sent as it came: what it counts as, and what its receiver gets."""

    def __init__(self, header: Header, data: Any) -> None:
        self.header, self.data = header, data


def describe(tensor: Any) -> Header:
    """The header of a torch tensor or array, without its bytes."""
    if isinstance(tensor, np.ndarray):
        return Header("numpy", tensor.dtype.name, tensor.shape, tensor.nbytes)
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Header("torch", dtype, tuple(tensor.shape), tensor.numel() * tensor.element_size())


def store(into: Any, tensor: Any) -> None:
    """Copy a received tensor into one that could not be written to byte by byte."""
    if isinstance(into, np.ndarray):
        into[...] = np.asarray(tensor)
    else:
        import torch

        with torch.no_grad():
            into.copy_(torch.as_tensor(tensor))
