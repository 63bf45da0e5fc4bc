"""Drivers for lesson 12: arguments that stay as they are, and a layer that takes its time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.exercises.drives import Function, Ranked
from helpers.exercises.drives_requests import Requests, all_waited

State = tuple[Tensor, Tensor]
CHANGED = "changed"
"""The key that tells of an answer that wrote into its arguments: the place of the first one."""


def _left_alone(fn: Function, comm: Any, *args: Any) -> Any:
    """What `fn(comm, *args)` returns; where it wrote into args, {"changed": place, "returned": …}.

    place: the first one of those tensors among args. Messages left open: as `all_waited`.
    """
    before = [arg.clone() if isinstance(arg, Tensor) else arg for arg in args]
    requests = Requests(comm)
    value = all_waited(requests, fn(comm, *args))
    for place, (arg, was) in enumerate(zip(args, before, strict=True)):
        if isinstance(arg, Tensor) and not torch.equal(arg.detach(), was):
            return {CHANGED: place, "returned": value}
    return value


left_alone = Ranked(_left_alone)


def changed(value: Any) -> int | None:
    """The place of the argument that an answer wrote into, None where it left all alone."""
    place = value.get(CHANGED) if type(value) is dict else None
    return place if type(place) is int else None


def returned(value: Any) -> Any:
    """What an answer returned, also where it wrote into its arguments."""
    return value["returned"] if type(value) is dict and "returned" in value else value


def recurrent(
    comm: Any, inward: float, onward: float, seconds: float
) -> Callable[[Tensor, State | None], tuple[Tensor, State]]:
    """A layer c = inward · x + onward · c, h = tanh(c) over the steps of x, in `seconds` a step.

    Called as layer(x, state): x (steps, rows, width), state None at the start. Gives the outputs h
    of all steps, and the state after the last one, (h, c) as an LSTM's.
    Raises TypeError for a state that is none of these.
    """

    called = False

    def layer(x: Tensor, state: State | None) -> tuple[Tensor, State]:
        nonlocal called
        when, called = "later" if called else "at its first call", True
        if state is not None and not (isinstance(state, list | tuple) and len(state) == 2):
            raise TypeError(
                f"`layer` was given a {type(state).__name__} as its state {when}: it takes None at "
                "the start, and then the second value of its own call for the chunk before."
            )
        cell = torch.zeros_like(x[0]) if state is None else state[1]
        outputs = []
        for step in x:
            cell = inward * step + onward * cell
            outputs.append(torch.tanh(cell))
        comm.compute(seconds * len(x))
        return torch.stack(outputs), (outputs[-1], cell)

    return layer


def _on_wave(
    fn: Function,
    comm: Any,
    inward: float,
    onward: float,
    seconds: float,
    inputs: Tensor | None,
    chunks: int,
) -> Any:
    """Call `fn(comm, layer, inputs, chunks)`, with this rank's layer; then as `all_waited`."""
    requests = Requests(comm)
    value = fn(comm, recurrent(comm, inward, onward, seconds), inputs, chunks)
    return all_waited(requests, value)


on_wave = Ranked(_on_wave, arguments=4)
