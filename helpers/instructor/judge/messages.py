"""Tensors and shared buffers on their way between sandboxes, checked before anything is made."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
from typing import Any

import torch

from helpers.engines import tensors
from helpers.instructor.judge.channel import Violation
from helpers.worker.encoding import MAX_BYTES, unbase64

_TORCH = {
    str(kind).removeprefix("torch."): kind
    for kind in vars(torch).values()
    if isinstance(kind, torch.dtype) and "q" not in str(kind) and "bits" not in str(kind)
}
_NUMPY = {"float16", "float32", "float64", "complex64", "complex128", "bool"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def whole(value: Any, below: int) -> int:
    """A number 0 … below − 1 from a child. Raises Violation."""
    if type(value) is not int or not 0 <= value < below:
        raise Violation("no such number")
    return value


def message_from(message: Any) -> Any:
    """A tensor that a child sends. Raises Violation, Malformed."""
    if type(message) is not list or len(message) != 4:
        raise Violation("no tensor")
    kind, dtype, shape, text = message
    known = {"torch": _TORCH, "numpy": _NUMPY}.get(kind, ()) if type(kind) is str else ()
    if type(dtype) is not str or dtype not in known or type(text) is not str:
        raise Violation("no tensor")
    sizes = _shape(shape)
    data = unbase64(text)
    tensor, target = tensors.empty(tensors.Header(kind, dtype, sizes, len(data)))
    if target.nbytes != len(data):
        raise Violation("a tensor with another size than its shape")
    target[:] = bytearray(data)
    return tensor


def _shape(shape: Any) -> tuple[int, ...]:
    if type(shape) is not list or len(shape) > 16:
        raise Violation("no shape")
    sizes = tuple(whole(n, MAX_BYTES) for n in shape)
    if math.prod(max(n, 1) for n in sizes) > MAX_BYTES:
        raise Violation("a tensor that is too large")
    return sizes


class Buffers:
    """The memory behind `comm.shared`: the judge makes it, the ranks of one run map it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._made: dict[int, tuple[Any, int]] = {}

    def share(self, comm: Any, shape: Any, dtype: Any) -> int:
        """One rank's call of shared(): the file descriptor for it, the same one for every rank.

        Raises ValueError where the ranks differ or the memory would be too large.
        """
        kind = _TORCH.get(dtype) if type(dtype) is str else None
        if kind is None:
            raise Violation("no type")
        sizes = _shape(shape)
        nbytes = self.size * math.prod(sizes) * torch.empty((), dtype=kind).element_size()
        if nbytes + sum(os.fstat(fd).st_size for _, fd in self._made.values()) > MAX_BYTES:
            raise ValueError(f"Shared buffers of {nbytes:,} bytes are more than a grader lends.")
        whole_list = comm.shared(sizes, kind)  # the engine's own: it holds the meeting
        key = id(whole_list[0])
        if key not in self._made:
            self._made[key] = whole_list, _memory(max(nbytes, 1))
        return self._made[key][1]

    def close(self) -> None:
        """Close the judge's end; the ranks keep what they have mapped."""
        for _, fd in self._made.values():
            os.close(fd)
        self._made.clear()


def _memory(nbytes: int) -> int:
    fd = os.memfd_create("shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, nbytes)
    with contextlib.suppress(OSError):  # without seals a rank could cut it under the others
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd
