"""Tensors and shared buffers on their way between sandboxes, checked before anything is made."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import re
from typing import Any

import numpy as np
import torch

from helpers.engines import tensors
from helpers.instructor.judge.channel import Violation
from helpers.worker.encoding import MAX_BYTES, TYPES

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")

# Bytes of an element, by the name of its type.
_NUMPY = {name: np.dtype(name).itemsize for name in TYPES}
_TORCH = {
    str(kind).removeprefix("torch."): kind.itemsize
    for kind in vars(torch).values()
    if isinstance(kind, torch.dtype) and "q" not in str(kind) and "bits" not in str(kind)
}


def whole(value: Any, below: int) -> int:
    """A number 0 … below − 1 from a child. Raises Violation."""
    if type(value) is not int or not 0 <= value < below:
        raise Violation("no such number")
    return value


def header_of(message: Any) -> tensors.Header:
    """What a tensor that a child sends counts as: its text is as long as its shape says.

    The text itself goes to the other rank unread. Raises Violation.
    """
    if type(message) is not list or len(message) != 4:
        raise Violation("no tensor")
    kind, dtype, shape, text = message
    known = {"torch": _TORCH, "numpy": _NUMPY}.get(kind, {}) if type(kind) is str else {}
    if type(dtype) is not str or dtype not in known or type(text) is not str:
        raise Violation("no tensor")
    nbytes = math.prod(_shape(shape)) * known[dtype]
    # Other characters would carry more than they count for.
    if len(text) != 4 * -(-nbytes // 3) or not _BASE64.fullmatch(text):
        raise Violation("a tensor with another size than its shape")
    return tensors.Header(kind, dtype, tuple(shape), nbytes)


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
        if type(dtype) is not str or dtype not in _TORCH:
            raise Violation("no type")
        kind, sizes = getattr(torch, dtype), _shape(shape)
        nbytes = self.size * math.prod(sizes) * _TORCH[dtype]
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
