"""What the judge hands to a submission's process for one case, and what it takes back.

The judge's end of `helpers.worker.handed`: tensors become memory that both sides see, so that the
judge knows what was written into them; what comes back is a stranger's and looked at.
"""

from __future__ import annotations

import base64
import mmap
import os
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.drives.values import Made, Offered, Remote
from helpers.engine.tensors import memory_of
from helpers.instructor.judge.shared_memory import Buffers, memory
from helpers.instructor.judge.taken import Taken
from helpers.worker.encoding import Malformed, encode

_ALIGNED = 64  # bytes
_ARENA = 2**16  # bytes of memory that tensors go into one after the other


class Handing:
    """The judge's objects that a process knows by number, of one case.

    lent: bytes of memory that went along.
    """

    def __init__(self, comm: Any, buffers: Buffers | None) -> None:
        self.comm, self.buffers = comm, buffers
        self.held: list[Any] = []
        self.lent = 0
        self.parameters: dict[int, nn.Parameter] = {}
        self._modules: dict[int, nn.Module] = {}
        self._synced: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}
        self._arenas: list[tuple[mmap.mmap, int]] = []
        self._fds: list[int] = []
        self._mapped: dict[int, int] = {}

    # --- to the process ---------------------------------------------------------------------------

    def give(self, value: Any, linked: list[Tensor] | None = None) -> tuple[Any, list[int]]:
        """A value as JSON data, and descriptors of its tensors' memory, which the caller closes.

        linked: takes the tensors that ask for a gradient, in order; None where nothing goes back.
        """
        self._fds = []
        return {"with": self._value(value, linked)}, self._fds

    def _value(self, value: Any, linked: list[Tensor] | None) -> Any:
        if id(value) in self._numbers and not (linked is not None and _asks(value)):
            return {"known": self._numbers[id(value)]}
        if value is not None and value is self.comm:
            return {"comm": True}
        if isinstance(value, nn.Parameter):
            return self._parameter(value)
        if isinstance(value, Tensor):
            return self._tensor(value, linked)
        kind = type(value)
        if kind is list:
            number = self._number(value)
            return {"list": [number, [self._value(each, linked) for each in value]]}
        if kind is tuple:
            return {"tuple": [self._value(each, linked) for each in value]}
        if kind is dict:
            return {
                "dict": [[self._value(k, None), self._value(v, linked)] for k, v in value.items()]
            }
        if isinstance(value, Remote):
            return {"object": value.number}  # type: ignore[attr-defined]
        if isinstance(value, Made):
            args = self._value(list(value.args), None)
            return {"made": [self._number(value), value.home, args]}
        if isinstance(value, Offered):
            names = [list(value.methods), list(value.attributes)]
            return {"stand_in": [self._number(value), type(value).__name__, *names]}
        if isinstance(value, nn.Module):
            parameters = [self._value(each, None) for each in value.parameters()]
            ours = isinstance(value, nn.Sequential)
            number = self._number(value)
            self._modules[number] = value
            return {"module": [number, ours, parameters, value.training]}
        if callable(value):
            name = str(getattr(value, "__name__", type(value).__name__))
            return {"callable": [self._number(value), name]}
        return encode(value)

    def _number(self, value: Any) -> int:
        self.held.append(value)
        self._numbers[id(value)] = len(self.held) - 1
        return len(self.held) - 1

    def _tensor(self, value: Tensor, linked: list[Tensor] | None) -> Any:
        shared = None if self.buffers is None else self.buffers.place(value)
        if shared is not None:
            return self._buffer(value, *shared)
        asks = linked is not None and _asks(value)
        if asks:
            assert linked is not None
            linked.append(value)
        return {"tensor": [self._number(value), asks, *self._where(value)]}

    def _buffer(self, value: Tensor, fd: int, number: int) -> Any:
        """A tensor of `comm.shared`: its memory goes along the first time."""
        new = fd not in self._mapped
        group = self._mapped.setdefault(fd, len(self._mapped))
        if new:
            self._fds.append(os.dup(fd))
            self.lent += _pages(os.fstat(fd).st_size)
        offset = number * value.numel() * value.element_size()
        kind = str(value.dtype).removeprefix("torch.")
        return {"buffer": [self._number(value), group, new, kind, list(value.shape), offset]}

    def _parameter(self, value: nn.Parameter) -> Any:
        number = self._number(value)
        self.parameters[number] = value
        self._synced[number] = _state(value.grad)
        return {"parameter": [number, by_value(value.grad), *self._where(value)]}

    def _where(self, value: Tensor) -> list[Any]:
        """Move a tensor into memory that both sides see.

        Returns its type, shape, strides, how many numbers its memory holds, and where that is.
        """
        shape, stride = list(value.shape), list(value.stride())
        span = 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
        span = span if value.numel() else 0
        arena, new, offset = self._room(span * value.element_size())
        if span:
            held = self._arenas[-1][0]
            flat = torch.frombuffer(held, dtype=value.dtype, count=span, offset=offset)
            there = torch.empty(0, dtype=value.dtype)
            there.set_(flat.untyped_storage(), 0, value.shape, value.stride())
            there.copy_(value.detach())
            value.data = there
        kind = str(value.dtype).removeprefix("torch.")
        return [kind, shape, stride, span, arena, new, offset]

    def _room(self, nbytes: int) -> tuple[int, bool, int]:
        """So many bytes in an arena: its number, whether it goes along now, and where in it."""
        new = not self._arenas or self._arenas[-1][1] + nbytes > len(self._arenas[-1][0])
        if new:
            size = max(_ARENA, nbytes)
            fd = memory(size)
            self.lent += _pages(size)
            self._arenas.append((mmap.mmap(fd, size), 0))
            self._fds.append(fd)
        held, used = self._arenas[-1]
        self._arenas[-1] = held, used + -(-nbytes // _ALIGNED) * _ALIGNED
        return len(self._arenas) - 1, new, used

    def gradients(self) -> list[Any]:
        """The gradients of the parameters that have others here than there, by value."""
        told = []
        for number, each in self.parameters.items():
            if _state(each.grad) != self._synced[number]:
                self._synced[number] = _state(each.grad)
                told.append([number, by_value(each.grad)])
        return told

    def modes(self) -> list[Any]:
        """Of the modules that were handed over, whether each is in training mode."""
        return [[number, module.training] for number, module in self._modules.items()]

    def synced(self, number: int) -> None:
        """The process knows of this parameter's gradient."""
        self._synced[number] = _state(self.parameters[number].grad)

    # --- from the process -------------------------------------------------------------------------

    def take(
        self, data: Any, make: Callable[..., Any], most: int | None = None
    ) -> tuple[Any, list[Tensor]]:
        """What a process has told, and the tensors in it that have a way back. Raises Malformed.

        make: of an object that stays there. most: so many numbers may it hold.
        """
        taken = Taken(self.held, make, most)
        value = taken.value(data, 0)
        return value, [taken.linked[number] for number in range(len(taken.linked))]

    def take_parameters(self, told: Any) -> None:
        """What became of the parameters. Raises Malformed."""
        if type(told) is not list:
            raise Malformed("no parameters")
        for each in told:
            if type(each) is not list or len(each) != 3 or type(each[0]) is not int:
                raise Malformed("no parameter")
            number, gradient, moved = each
            parameter = self.parameters.get(number)
            if parameter is None:
                raise Malformed("no parameter")
            parameter.grad = self._like(parameter, gradient)
            self._synced[number] = _state(parameter.grad)
            replaced = self._like(parameter, moved)
            if replaced is not None:
                parameter.data = replaced

    def _like(self, parameter: Tensor, told: Any) -> Tensor | None:
        found, _ = self.take(told, _nothing)
        if found is None:
            return None
        if not isinstance(found, Tensor) or found.shape != parameter.shape:
            raise Malformed("no gradient of this parameter")
        if found.dtype != parameter.dtype:
            raise Malformed("no gradient of this parameter")
        return found


def _pages(nbytes: int) -> int:
    return -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE


def _asks(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad and not isinstance(value, nn.Parameter)


def _state(gradient: Tensor | None) -> Any:
    """What changes with a gradient. It holds the tensor, whose number no other gets so."""
    return None if gradient is None else (gradient._version, _Same(gradient))


class _Same:
    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.held is self.held


def _nothing(*args: Any) -> Any:
    raise Malformed("an object where a value belongs")


def by_value(value: Any) -> Any:
    """A value for the process, its tensors by value."""
    if not isinstance(value, Tensor):
        if type(value) is list:
            return [by_value(each) for each in value]
        return (
            {"tuple": [by_value(each) for each in value]} if type(value) is tuple else encode(value)
        )
    held = value.detach().contiguous()
    text = base64.b64encode(memory_of(held).tobytes()).decode()
    return {"copy": [str(held.dtype).removeprefix("torch."), list(held.shape), text]}
