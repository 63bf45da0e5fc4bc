"""Tensors between sandboxes, in messages and in the memory of `comm.shared`."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import re
from typing import Any

import numpy as np
import torch

from helpers.checks.encoding import MAX_BYTES, TYPES, Malformed
from helpers.engine import tensors

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")

# Bytes of an element, by the name of its type: of numpy's, and of torch's.
_NUMPY = {name: np.dtype(name).itemsize for name in TYPES}
ITEMS = {
    str(kind).removeprefix("torch."): kind.itemsize
    for kind in vars(torch).values()
    if isinstance(kind, torch.dtype) and "q" not in str(kind) and "bits" not in str(kind)
}


def whole(value: Any, below: int) -> int:
    """A number 0 … below − 1 from a child. Raises Malformed."""
    if type(value) is not int or not 0 <= value < below:
        raise Malformed("no such number")
    return value


class Packed(tensors.Packed):
    """A message on its way through the judge: nobody but its receiver unpacks it."""

    def unpacked(self) -> Any:
        """The tensor, for a driver that looks."""
        from helpers.grade.worker.remote_comm import unpack

        return unpack(self.data)[1]


def header_of(message: Any) -> tensors.Header:
    """What a tensor that a child sends counts as: its text is as long as its shape says.

    The text itself goes to the other rank unread. Raises Malformed.
    """
    if type(message) is not list or len(message) != 4:
        raise Malformed("no tensor")
    kind, dtype, shape, text = message
    known = {"torch": ITEMS, "numpy": _NUMPY}.get(kind, {}) if type(kind) is str else {}
    if type(dtype) is not str or dtype not in known or type(text) is not str:
        raise Malformed("no tensor")
    nbytes = math.prod(shape_of(shape)) * known[dtype]
    # Other characters would carry more than they count for.
    if len(text) != 4 * -(-nbytes // 3) or not _BASE64.fullmatch(text):
        raise Malformed("a tensor with another size than its shape")
    return tensors.Header(kind, dtype, tuple(shape), nbytes)


def shape_of(shape: Any) -> tuple[int, ...]:
    """A shape from a child. Raises Malformed."""
    if type(shape) is not list or len(shape) > 16:
        raise Malformed("no shape")
    sizes = tuple(whole(n, MAX_BYTES) for n in shape)
    if math.prod(max(n, 1) for n in sizes) > MAX_BYTES:
        raise Malformed("a tensor that is too large")
    return sizes


class Buffers:
    """Memory that the judge makes and the ranks of one run map; lent: whether there is any."""

    def __init__(self, size: int, lent: bool) -> None:
        self.size, self.lent = size, lent
        self._made: dict[int, tuple[Any, int]] = {}

    def share(self, comm: Any, shape: Any, dtype: Any) -> int:
        """One rank's call of shared(): the file descriptor for it, the same one for every rank.

        Raises ValueError where the ranks differ or the memory would be too large, or none is lent.
        """
        if not self.lent:
            raise ValueError("This exercise is about messages: no memory is shared in it.")
        if type(dtype) is not str or dtype not in ITEMS:
            raise Malformed("no type")
        sizes = shape_of(shape)
        nbytes = self.size * math.prod(sizes) * ITEMS[dtype]
        if nbytes + sum(os.fstat(fd).st_size for _, fd in self._made.values()) > MAX_BYTES:
            raise ValueError(f"Shared buffers of {nbytes:,} bytes are more than a grader lends.")
        tensors = comm.shared(sizes, getattr(torch, dtype))  # the same ones for all that meet here
        if id(tensors[0]) not in self._made:
            self._made[id(tensors[0])] = tensors, memory(max(nbytes, 1))
        return self._made[id(tensors[0])][1]

    def close(self) -> None:
        """Close the judge's end; the ranks keep what they have mapped."""
        for _, fd in self._made.values():
            os.close(fd)
        self._made.clear()


def memory(nbytes: int) -> int:
    """New memory that processes can share, as a descriptor: zeros, of this size for good."""
    fd = os.memfd_create("shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, nbytes)
    with contextlib.suppress(OSError):  # without seals a rank could cut it under the others
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd
