"""Tensors on their way between sandboxes, checked before anything is made."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import torch

from helpers.engine import tensors
from helpers.instructor.judge.channel import Violation
from helpers.worker.encoding import MAX_BYTES, TYPES

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")

# Bytes of an element, by the name of its type: of numpy's, and of torch's.
_NUMPY = {name: np.dtype(name).itemsize for name in TYPES}
ITEMS = {
    str(kind).removeprefix("torch."): kind.itemsize
    for kind in vars(torch).values()
    if isinstance(kind, torch.dtype) and "q" not in str(kind) and "bits" not in str(kind)
}


def whole(value: Any, below: int) -> int:
    """A number 0 … below − 1 from a child. Raises Violation."""
    if type(value) is not int or not 0 <= value < below:
        raise Violation("no such number")
    return value


class Packed(tensors.Packed):
    """A message on its way through the judge: nobody but its receiver unpacks it."""

    def unpacked(self) -> Any:
        """The tensor, for a driver that looks."""
        from helpers.worker.remote_comm import unpack

        return unpack(self.data)[1]


def header_of(message: Any) -> tensors.Header:
    """What a tensor that a child sends counts as: its text is as long as its shape says.

    The text itself goes to the other rank unread. Raises Violation.
    """
    if type(message) is not list or len(message) != 4:
        raise Violation("no tensor")
    kind, dtype, shape, text = message
    known = {"torch": ITEMS, "numpy": _NUMPY}.get(kind, {}) if type(kind) is str else {}
    if type(dtype) is not str or dtype not in known or type(text) is not str:
        raise Violation("no tensor")
    nbytes = math.prod(shape_of(shape)) * known[dtype]
    # Other characters would carry more than they count for.
    if len(text) != 4 * -(-nbytes // 3) or not _BASE64.fullmatch(text):
        raise Violation("a tensor with another size than its shape")
    return tensors.Header(kind, dtype, tuple(shape), nbytes)


def shape_of(shape: Any) -> tuple[int, ...]:
    """A shape from a child. Raises Violation."""
    if type(shape) is not list or len(shape) > 16:
        raise Violation("no shape")
    sizes = tuple(whole(n, MAX_BYTES) for n in shape)
    if math.prod(max(n, 1) for n in sizes) > MAX_BYTES:
        raise Violation("a tensor that is too large")
    return sizes
