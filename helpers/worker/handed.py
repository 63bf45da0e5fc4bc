"""What the judge hands a submission's process for one case, and what goes back.

Plain values go as in `encoding`. A tensor is handed over as memory that the judge shares, and reads
when the call is over; the same tensor or list again is the same object here. A callable of the
judge's stays there: `callbacks` calls it. What a function gives goes back by value; an object that
is no value stays here, and the judge asks for what it needs of it.
"""

from __future__ import annotations

import base64
import mmap
import operator
import os
import sys
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from inspect import isroutine
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from helpers.engine.tensors import memory_of
from helpers.worker.encoding import decode, encode
from helpers.worker.stand_ins import ANCHOR, Elsewhere, Enter, Entry, stand_in

_DEEPEST = 8  # as `drives.values.plain`
_RULES, _STAGES = "helpers.engine.servers.rule", "helpers.lessons.pipelines.algorithms.instructions"
_INSTRUCTIONS = {"F": "Forward", "B": "Backward", "I": "BackwardInput", "W": "BackwardWeights"}


class Handed:
    """Objects that both sides know by number, of one case.

    known: what the judge has handed over. objects: what was made here and stays here. entries:
    while tensors come that ask for a gradient, where each one's gradient arrives.
    """

    def __init__(self, comm: Any, callback: Callable[..., Any], descriptors: list[int]) -> None:
        self.comm, self.callback, self.descriptors = comm, callback, descriptors
        self._groups: dict[int, mmap.mmap] = {}
        self.known: dict[int, Any] = {}
        self.objects: list[Any] = []
        self.entries: list[Entry] = []
        self._numbers: dict[int, int] = {}
        self._given: dict[int, tuple[int, Any]] = {}  # memory of the parameters
        self._arenas: dict[int, mmap.mmap] = {}

    # --- from the judge -------------------------------------------------------------------------

    def take(self, data: Any) -> Any:
        """The value that the judge's data stand for."""
        return self._value(data)

    def _as_with(self, inner: Any) -> Any:
        """A value whose tensors' memory comes along where it is new."""
        return self._value(inner)

    def _map(self) -> mmap.mmap:
        fd = self.descriptors.pop(0)
        try:
            return mmap.mmap(fd, 0)
        finally:
            os.close(fd)

    def _as_buffer(self, inner: Any) -> Any:
        """A tensor of `comm.shared`."""
        number, group, new, dtype, shape, offset = inner
        if new:
            self._groups[group] = self._map()
            self.comm.shares_memory()
        made = torch.empty(shape, dtype=getattr(torch, dtype))
        if made.numel():
            flat = torch.frombuffer(
                self._groups[group], dtype=made.dtype, count=made.numel(), offset=offset
            )
            made = flat.view(shape)
        return self._keep(number, made)

    def _value(self, data: Any) -> Any:
        if type(data) is not dict:
            return [self._value(each) for each in data] if type(data) is list else data
        ((name, inner),) = data.items()
        make = getattr(self, f"_as_{name}", None)
        return decode(data) if make is None else make(inner)

    def _as_tuple(self, inner: Any) -> Any:
        return tuple(self._value(each) for each in inner)

    def _as_dict(self, inner: Any) -> Any:
        return {self._value(key): self._value(each) for key, each in inner}

    def _as_known(self, number: int) -> Any:
        return self.known[number]

    def _as_comm(self, _: Any) -> Any:
        return self.comm

    def _as_list(self, inner: Any) -> Any:
        number, items = inner
        return self._keep(number, [self._value(each) for each in items])

    def _as_tensor(self, inner: Any) -> Any:
        number, linked, *where = inner
        if not linked:
            return self._keep(number, self._shared(*where))
        entry = Entry()
        self.entries.append(entry)
        return self._keep(number, Enter.apply(ANCHOR, lambda: self._shared(*where), entry))

    def _as_parameter(self, inner: Any) -> Any:
        number, gradient, *where = inner
        made = nn.Parameter(self._shared(*where))
        made.grad = self._value(gradient)
        self._given[number] = made.data_ptr(), made
        return self._keep(number, made)

    def _as_copy(self, inner: Any) -> Any:
        """A tensor by value, of which nobody else has the memory."""
        dtype, shape, text = inner
        raw = bytearray(base64.b64decode(text))
        kind = getattr(torch, dtype)
        return (
            torch.frombuffer(raw, dtype=kind).reshape(shape)
            if raw
            else torch.empty(shape, dtype=kind)
        )

    def _as_lent(self, inner: Any) -> Any:
        """A tensor in memory that the judge sees: whether anybody here holds it."""
        dtype, shape = inner
        return torch.frombuffer(self._map(), dtype=getattr(torch, dtype)).view(shape)

    def _as_callable(self, inner: Any) -> Any:
        number, name = inner

        def call(*args: Any, **options: Any) -> Any:
            return self.callback(number, args, options)

        call.__name__ = name
        return self._keep(number, call)

    def _as_made(self, inner: Any) -> Any:
        """What a driver would have made here: an object of one of the course's own classes."""
        number, home, args = inner
        module, _, name = home.partition(":")
        return self._keep(number, getattr(import_module(module), name)(*self._value(args)))

    def _as_object(self, number: int) -> Any:
        return self.objects[number]

    def _as_stand_in(self, inner: Any) -> Any:
        number, *what = inner
        return self._keep(number, stand_in(self.callback, number, *what))

    def _as_module(self, inner: Any) -> Any:
        """A network of the course's own, or one whose forward is the judge's."""
        number, ours, parameters, training = inner
        made = self._value(parameters)
        if ours:
            from helpers.checks.drives.training import network_of

            module: nn.Module = network_of(made)
        else:
            module = Elsewhere(self.callback, number, made)
        return self._keep(number, module.train(training))

    def _shared(
        self,
        dtype: str,
        shape: list[int],
        stride: list[int],
        span: int,
        arena: int,
        new: bool,
        offset: int,
    ) -> Tensor:
        if new:
            self._arenas[arena] = self._map()
        kind = getattr(torch, dtype)
        if not span:
            return torch.empty(shape, dtype=kind)
        flat = torch.frombuffer(self._arenas[arena], dtype=kind, count=span, offset=offset)
        # Not a view of something else: autograd would forbid to write into it.
        return torch.empty(0, dtype=kind).set_(flat.untyped_storage(), 0, shape, stride)

    def _keep(self, number: int, made: Any) -> Any:
        self.known[number] = made
        self._numbers[id(made)] = number
        return made

    # --- to the judge ---------------------------------------------------------------------------

    def tell(self, value: Any, linked: list[Tensor] | None = None, depth: int = 0) -> Any:
        """A value as JSON data. linked: takes the tensors that ask for a gradient, in order."""
        if isinstance(value, Tensor):
            return self._tensor(value, linked)
        if id(value) in self._numbers and type(value) is not list:
            return {"known": self._numbers[id(value)]}
        if depth > _DEEPEST:
            return {"other": "deeply nested collection"}
        kind = type(value)
        if kind in (list, tuple, range):
            items = [self.tell(each, linked, depth + 1) for each in value]
            return {"tuple": items} if kind is tuple else items
        if kind is dict:
            pairs = value.items()
            return {
                "dict": [
                    [k, self.tell(v, linked, depth + 1)] for k, v in pairs if type(k) in (int, str)
                ]
            }
        return self._other(value, linked, depth)

    def _other(self, value: Any, linked: list[Tensor] | None, depth: int) -> Any:
        if value is None or type(value) in (bool, int, float, str):
            return encode(value)
        if isinstance(value, np.generic):
            return encode(np.asarray(value))
        if type(value) is np.ndarray and value.dtype.kind in "biufc":
            return encode(value)
        if _is_a(value, _RULES, "Decision"):
            parts = (value.release, value.applied, value.dropped)
            return {"decision": [self.tell(part, linked, depth + 1) for part in parts]}
        if _is_a(value, _RULES, "Push"):
            return {"push": [self.tell(part, linked, depth + 1) for part in value]}
        for short, name in _INSTRUCTIONS.items():
            if _is_a(value, _STAGES, name):
                parts = (short, value.microbatch, value.chunk)
                return {"instruction": [self.tell(part, linked, depth + 1) for part in parts]}
        if isinstance(value, tuple) and hasattr(type(value), "_fields"):  # as `drives.values.plain`
            return {"tuple": [self.tell(part, linked, depth + 1) for part in value]}
        if isinstance(value, Fraction):
            return {"fraction": [encode(value.numerator), encode(value.denominator)]}
        return self.keeps(value)

    def keeps(self, value: Any) -> Any:
        """An object that stays here, as JSON data."""
        number = next((n for n, held in enumerate(self.objects) if held is value), None)
        if number is None:
            number = len(self.objects)
            self.objects.append(value)
        name, cls = type(value).__name__, type(value)
        if isinstance(value, np.ndarray):
            name = "numpy array of objects"
        methods = [
            each
            for each in dir(cls)
            if not each.startswith("_") and isroutine(getattr(cls, each, None))
        ][:200]
        what = {
            "items": hasattr(cls, "__iter__"),
            "call": callable(value),
            "type": isinstance(value, type),
            "index": _index(value),
        }
        return {"object": [number, name[:80], methods, what]}

    def _tensor(self, value: Tensor, linked: list[Tensor] | None) -> Any:
        number = self._numbers.get(id(value))
        if number is not None and (linked is None or not value.requires_grad):
            return {"known": number}
        if value.layout is not torch.strided or value.is_quantized:
            return {"other": type(value).__name__}
        data: Any = self.copied(value)
        if linked is not None and value.requires_grad:
            linked.append(value)
            data = {"linked": [len(linked) - 1, data]}
        return data

    def copied(self, value: Tensor) -> Any:
        """A tensor by value."""
        held = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        text = base64.b64encode(memory_of(held).tobytes()).decode()
        return {"copy": [str(held.dtype).removeprefix("torch."), list(held.shape), text]}

    def parameters(self) -> list[Any]:
        """Of each parameter that was handed over: its number, gradient, and value if that moved."""
        told = []
        for number, (memory, made) in self._given.items():
            moved = made.data_ptr() != memory
            gradient = None if made.grad is None else self.copied(made.grad)
            told.append([number, gradient, self.copied(made) if moved else None])
        return told

    def set_gradients(self, gradients: list[Any]) -> None:
        """The gradients that the judge's parameters have, before a call."""
        for number, gradient in gradients:
            self._given[number][1].grad = self._value(gradient)


def _index(value: Any) -> int | None:
    """The whole number that it stands for, where it stands for one."""
    try:
        found = operator.index(value)
    except Exception:  # no whole number, whatever its class says
        return None
    return found if abs(found) < 2**62 else None


def _is_a(value: Any, module: str, name: str) -> bool:
    """Whether it is an object of a class of the course's that a lesson may not have."""
    home = sys.modules.get(module)
    return home is not None and isinstance(value, getattr(home, name))
