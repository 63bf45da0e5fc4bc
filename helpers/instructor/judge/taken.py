"""What a submission's process tells the judge: a stranger's values, every one looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from helpers.checks.compare import Other
from helpers.engine.servers.rule import Decision, Push
from helpers.instructor.judge.channel import Violation
from helpers.instructor.judge.messages import ITEMS, shape_of
from helpers.lessons.pipelines.algorithms.instructions import (
    Backward,
    BackwardInput,
    BackwardWeights,
    Forward,
)
from helpers.worker.encoding import Decoder, Malformed, unbase64

_INSTRUCTIONS = {"F": Forward, "B": Backward, "I": BackwardInput, "W": BackwardWeights}
# Numbers that a callback, or an object in turn, may give: two of them are multiplied.
MOST = 2**13


class Taken(Decoder):
    """Decodes what a process tells.

    held: what it may name by number. make: of an object that stays there. most: so many numbers may
    its tensors hold. linked: those with a way back.
    """

    def __init__(self, held: Sequence[Any], make: Callable[..., Any], most: int | None) -> None:
        super().__init__()
        self.held, self.make, self.most = held, make, most
        self.linked: dict[int, Tensor] = {}
        self._elements = 0

    def _object(self, name: str, inner: Any, depth: int) -> Any:
        special = getattr(self, f"_as_{name}", None) if type(name) is str else None
        if special is None:
            return super()._object(name, inner, depth)
        return special(inner, depth + 1)

    def _as_copy(self, inner: Any, depth: int) -> Tensor:
        if type(inner) is not list or len(inner) != 3:
            raise Malformed("no tensor")
        dtype, shape, text = inner
        if type(dtype) is not str or dtype not in ITEMS or type(text) is not str:
            raise Malformed("no tensor")
        try:
            sizes = shape_of(shape)
        except Violation:
            raise Malformed("no shape") from None
        count = math.prod(sizes)
        self._elements += count
        if self.most is not None and self._elements > self.most:
            raise Malformed("more numbers than belong here")
        self.count_bytes(count * ITEMS[dtype])
        raw = bytearray(unbase64(text))
        if len(raw) != count * ITEMS[dtype]:
            raise Malformed("a tensor with another size than its shape")
        kind = getattr(torch, dtype)
        if not raw:
            return torch.empty(sizes, dtype=kind)
        if kind is torch.bool:
            return (torch.frombuffer(raw, dtype=torch.uint8) != 0).reshape(sizes)
        return torch.frombuffer(raw, dtype=kind).reshape(sizes)

    def _as_linked(self, inner: Any, depth: int) -> Tensor:
        if type(inner) is not list or len(inner) != 2 or type(inner[0]) is not int:
            raise Malformed("no tensor")
        found = self.value(inner[1], depth)
        if not isinstance(found, Tensor) or inner[0] != len(self.linked):
            raise Malformed("no tensor")
        if not (found.is_floating_point() or found.is_complex()):
            raise Malformed("no gradient comes to whole numbers")
        self.linked[inner[0]] = found
        return found

    def _as_known(self, number: Any, depth: int) -> Any:
        if type(number) is not int or not 0 <= number < len(self.held):
            raise Malformed("nothing of that number was handed over")
        return self.held[number]

    def _as_comm(self, inner: Any, depth: int) -> Any:
        return COMM

    def _as_decision(self, inner: Any, depth: int) -> Decision:
        if type(inner) is not list or len(inner) != 3:
            raise Malformed("no decision")
        return Decision(*[self.value(each, depth) for each in inner])

    def _as_push(self, inner: Any, depth: int) -> Push:
        if type(inner) is not list or len(inner) != 3:
            raise Malformed("no push")
        return Push(*[self.value(each, depth) for each in inner])

    def _as_instruction(self, inner: Any, depth: int) -> Any:
        if type(inner) is not list or len(inner) != 3 or type(inner[0]) is not str:
            raise Malformed("no instruction")
        if inner[0] not in _INSTRUCTIONS:
            raise Malformed("no instruction")
        return _INSTRUCTIONS[inner[0]](*[self.value(each, depth) for each in inner[1:]])

    def _as_fraction(self, inner: Any, depth: int) -> Any:
        if type(inner) is not list or [type(n) for n in inner] != [int, int] or not inner[1]:
            return Other("Fraction")
        return Fraction(*inner)

    def _as_object(self, inner: Any, depth: int) -> Any:
        return self.make(inner)


class Comm:
    """Stands for the comm of the lane that a callback came on."""


COMM = Comm()
