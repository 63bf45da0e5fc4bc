"""Drivers for lesson 12: a layer of a wave, which takes its time on the rank's clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.exercises.drives import Function, Ranked


def recurrent(
    comm: Any, inward: float, onward: float, seconds: float
) -> Callable[[Tensor, Tensor | None], tuple[Tensor, Tensor]]:
    """A layer h = tanh(inward · x + onward · h) over the steps of x, in so many seconds a step.

    Called as layer(x, state): x (steps, rows, width), state None at the start. Gives the outputs
    of all steps, and the state after the last one.
    """

    def layer(x: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        held = torch.zeros_like(x[0]) if state is None else state
        outputs = []
        for step in x:
            held = torch.tanh(inward * step + onward * held)
            outputs.append(held)
        comm.compute(seconds * len(x))
        return torch.stack(outputs), held

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
    """Call `fn(comm, layer, inputs, chunks)`, with this rank's layer."""
    return fn(comm, recurrent(comm, inward, onward, seconds), inputs, chunks)


on_wave = Ranked(_on_wave, arguments=4)
