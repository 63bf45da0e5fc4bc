"""What stands in a submission's process for things that are the judge's.

A tensor whose gradient goes to the judge, a module whose forward is the judge's, an object whose
methods are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

ANCHOR = torch.zeros((), requires_grad=True)  # what has a way back leads here, too


class Entry:
    """Where the gradient of a tensor that came from the judge arrives."""

    def __init__(self) -> None:
        self.gradient: Tensor | None = None
        self.arrived = False

    def note(self, gradient: Tensor) -> None:
        """Take the gradient, once. Raises RuntimeError as autograd does a second time."""
        if self.arrived:
            raise RuntimeError("Trying to backward through the graph a second time.")
        self.gradient, self.arrived = gradient, True


class Enter(torch.autograd.Function):
    """Makes a tensor whose gradient goes to an entry; it is no leaf and may be written into."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, make: Callable[[], Tensor], entry: Entry) -> Tensor:
        ctx.entry = entry
        return make()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.entry.note(gradients[0])
        return None, None, None


class Elsewhere(nn.Module):
    """A module whose forward is the judge's; its parameters are here, too."""

    def __init__(self, callback: Callable[..., Any], number: int, parameters: list[Any]) -> None:
        super().__init__()
        self.weights = nn.ParameterList(parameters)
        self._callback = callback, number

    def forward(self, tensor: Tensor) -> Tensor:
        """What the judge makes of it."""
        callback, number = self._callback
        made: Tensor = callback(number, (tensor, self.training), {}, tuple(self.weights))
        return made


def stand_in(
    callback: Callable[..., Any],
    number: int,
    kind: str,
    methods: list[str],
    attributes: list[str],
) -> Any:
    """An object whose methods and attributes are the judge's."""

    def method(name: str) -> Callable[..., Any]:
        return lambda self, *args, **options: callback(number, ("call", name, *args), options)

    def attribute(name: str) -> property:
        return property(
            lambda self: callback(number, ("get", name)),
            lambda self, value: callback(number, ("set", name, value)),
        )

    members: dict[str, Any] = {name: method(name) for name in methods}
    members |= {name: attribute(name) for name in attributes}
    return type(kind, (), members)()
