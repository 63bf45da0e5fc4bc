"""Requests of a submission's process while the judge waits for it: what it calls of the judge's.

A callback runs here, on values that were looked at, and the judge sees each one. Where it is
differentiable, what backward needs stays here as well: who wants to go back through it has to keep
hold of it, and the judge knows what is held.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from helpers.checks.drives.calling import Elsewhere
from helpers.checks.drives.values import Offered
from helpers.instructor.judge.channel import Channel, Violation
from helpers.instructor.judge.handing import Handing, by_value
from helpers.instructor.judge.shared_memory import Lent
from helpers.instructor.judge.taken import COMM, MOST
from helpers.worker.encoding import Malformed
from helpers.worker.frames import Closed, Late

_RECORDS = 2000
_OURS = (Late, Closed, Violation, Malformed, Elsewhere)  # no answer to a callback


class Record(NamedTuple):
    """A callback that can be gone back through: what it was given and used, and what it gave."""

    given: list[Tensor]
    parameters: list[Tensor]
    made: list[Tensor]


class Exchange:
    """One thread of a process during a case: its requests, in turn. lane: 0, or 1 behind."""

    requests: ClassVar[dict[str, Callable[..., None]]] = {}

    def __init__(
        self, channel: Channel, handing: Handing, records: dict[int, Record], lane: int = 0
    ) -> None:
        self.channel, self.handing, self.records, self.lane = channel, handing, records, lane
        self.fds: list[int] = []

    def serve(self, *last: str) -> tuple[str, list[Any]]:
        """Do what the process asks for, up to one of these words; returns it with what it says."""
        while True:
            message = self.channel.answer(self.lane, "op")
            op, args = message["op"], message.get("args")
            if type(op) is not str or type(args) is not list:
                raise Violation("a request of another kind")
            if op in last:
                return op, args
            do = self.requests.get(op)
            if do is None:
                raise Violation("a request that there is not")
            if len(args) != do.__code__.co_argcount - 1:
                raise Violation("a request with other arguments")
            do(self, *args)

    def own_comm(self) -> Any:
        """The comm of this lane, for a callback that is given one."""
        return None

    def send(self, message: dict[str, Any], fds: Sequence[int] = ()) -> None:
        """Send something; descriptors that go with it are closed here."""
        try:
            self.channel.send(message, tuple(fds))
        finally:
            for fd in fds:
                os.close(fd)

    def answer(self, value: Any, fds: tuple[int, ...] = ()) -> None:
        """Answer the process's last request."""
        self.channel.send({"lane": self.lane, "value": value}, fds)

    def refuse(self, error: Exception) -> None:
        """Answer it with an exception, which is raised there."""
        said = [type(error).__name__, str(error)[:2000]]
        self.channel.send({"lane": self.lane, "error": said})

    def drop(self, numbers: Any) -> None:
        """Nothing goes back through these callbacks any more."""
        if type(numbers) is not list or any(type(number) is not int for number in numbers):
            raise Violation("no numbers")
        for number in numbers:
            self.records.pop(number, None)

    def callback(self, number: Any, told: Any, names: Any, grad: Any, dropped: Any) -> None:
        """Call something of the judge's with what the process gives it.

        names: of the last of its arguments, which are given by name.
        """
        self.drop(dropped)
        held = self.handing.held
        if type(number) is not int or not 0 <= number < len(held) or type(told) is not list:
            raise Violation("no callback")
        if type(names) is not list or any(type(name) is not str for name in names):
            raise Violation("no callback")
        if len(set(names)) != len(names) or len(names) > len(told):
            raise Violation("no callback")
        try:
            answer = self._called(held[number], told, names, bool(grad))
        except _OURS:
            raise
        except Exception as error:  # what the callback says to such arguments
            self.refuse(error)
        else:
            fds, self.fds = self.fds, []
            self.send({"lane": self.lane, "value": answer}, fds)

    def _called(self, target: Any, told: list[Any], names: list[str], grad: bool) -> dict[str, Any]:
        taken, given = self.handing.take(told, _no_object, MOST)
        for each in given:
            each.requires_grad_()
        args = [self.own_comm() if each is COMM else each for each in taken]
        before = [each.detach().clone() if isinstance(each, Tensor) else None for each in args]
        first = len(args) - len(names)
        with torch.set_grad_enabled(grad):
            value = _use(target, args[:first], dict(zip(names, args[first:], strict=True)))
        pairs = enumerate(zip(args, before, strict=True))
        written = [
            [place, by_value(now)]
            for place, (now, was) in pairs
            if was is not None and _differ(now, was)
        ]
        made = _tensors(value)
        links = [each.requires_grad for each in made]
        record = None
        if any(links):
            if len(self.records) >= _RECORDS:
                raise Violation("more callbacks than anybody goes back through")
            record = max(self.records, default=0) + 1
            used: list[Tensor] = []
            if isinstance(target, nn.Module):
                used += target.parameters()
            self.records[record] = Record(given, used, made)
        lent = getattr(target, "lent", None)
        if lent is not None and isinstance(value, Tensor) and value.numel():
            made_here = Lent(value)
            lent.append(made_here.is_held)
            told_back = made_here.told
            self.fds.append(os.dup(made_here.fd))
        else:
            told_back = by_value(value)
        return {"value": told_back, "written": written, "record": record, "links": links}

    def callback_backward(self, number: Any, told: Any, dropped: Any) -> None:
        """Go back through a callback, from the gradients of what it gave."""
        self.drop(dropped)
        record = self.records.get(number) if type(number) is int else None
        if record is None or type(told) is not list or len(told) != len(record.made):
            raise Violation("no callback to go back through")
        try:
            found = self._gone_back(record, told)
        except _OURS:
            raise
        except Exception as error:
            self.refuse(error)
        else:
            self.answer([by_value(each) for each in found])

    def _gone_back(self, record: Record, told: list[Any]) -> list[Any]:
        most = max(MOST, sum(each.numel() for each in record.made))
        gradients, _ = self.handing.take(told, _no_object, most)
        pairs = zip(record.made, gradients, strict=True)
        some = [(m, g) for m, g in pairs if g is not None and m.requires_grad]
        made, above = [m for m, _ in some], [g for _, g in some]
        if record.parameters:
            wanted = [*record.given, *record.parameters]
            return list(torch.autograd.grad(made, wanted, above, allow_unused=True))
        for each in record.given:
            each.grad = None
        torch.autograd.backward(made, above)
        return [each.grad for each in record.given]


Exchange.requests = {
    "callback": Exchange.callback,
    "callback_backward": Exchange.callback_backward,
}


def _no_object(told: Any) -> Any:
    raise TypeError("an object where a number or a tensor belongs")


def _use(target: Any, args: list[Any], options: dict[str, Any]) -> Any:
    """Call a callback; of an object that is offered, what was asked for."""
    if isinstance(target, nn.Module):
        return _forward(target, *args)
    if isinstance(target, Offered):
        what, name, *rest = args
        if what == "call" and name in target.methods:
            return getattr(target, name)(*rest, **options)
        if what == "get" and name in target.attributes and not rest:
            return getattr(target, name)
        if what == "set" and name in target.attributes and len(rest) == 1:
            return setattr(target, name, rest[0])
        raise AttributeError(f"there is no {name}")
    if not callable(target):
        raise Violation("no callback")
    return target(*args, **options)


def _forward(module: nn.Module, tensor: Any, training: Any) -> Any:
    """Run a module in the mode that it has there."""
    own = module.training
    module.train(training is True)
    try:
        return module(tensor)
    finally:
        module.train(own)


def _tensors(value: Any) -> list[Tensor]:
    """The tensors of a callback's value, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for each in value for tensor in _tensors(each)]
    return []


def _differ(one: Tensor, other: Tensor) -> bool:
    return not torch.equal(one.detach(), other)
