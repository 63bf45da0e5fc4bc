"""Horovod's `Compression`, for the stand-in of checks: how a tensor travels.

As Horovod has it: `compress` gives the tensor that travels and what `decompress` needs.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor


class _None:
    """As it is."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: Tensor, context: Any) -> Tensor:
        return tensor


class _Half:
    """In 16 bits, back in the type that it had; what is no floating point stays as it is."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]:
        return (tensor.half() if tensor.is_floating_point() else tensor), tensor.dtype

    @staticmethod
    def decompress(tensor: Tensor, context: Any) -> Tensor:
        return tensor if context is None else tensor.to(context)


class Compression:
    """What `hvd.Compression` offers."""

    none, fp16 = _None, _Half


def travelling(compression: Any) -> Any:
    """The compression that was asked for, none where nothing was."""
    if compression is None:
        return Compression.none
    if not hasattr(compression, "compress") or not hasattr(compression, "decompress"):
        raise ValueError("compression is hvd.Compression.none or hvd.Compression.fp16.")
    return compression
