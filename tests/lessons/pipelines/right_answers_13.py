"""Right answers to lesson 13 that differ from the references."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from helpers.lessons.pipelines.algorithms.instructions import (
    Backward,
    BackwardInput,
    BackwardWeights,
    Forward,
)


def bubble_as_a_fraction(
    stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0
) -> Any:
    """Exact."""
    return Fraction(stages - 1, microbatches + stages - 1)


def gpipe_of_an_array(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Counts with an array's numbers."""
    numbers = np.arange(microbatches)
    for kind, order in ((Forward, numbers), (Backward, numbers[::-1])):
        for i in order:
            yield kind(i)


def one_by_one_by_counting(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Goes forward while it may hold one more, and back otherwise."""
    there = back = 0
    while back < microbatches:
        if there < microbatches and there - back < stages - stage:
            yield Forward(there)
            there += 1
        else:
            yield Backward(back)
            back += 1


def run_stage_by_gradients(
    comm: Any, module: Any, instructions: Any, inputs: Any, targets: Any, loss: Any
) -> Any:
    """Asks for the gradients and adds them itself; divides the gradient and not the loss."""
    parameters, kept, requests = list(module.parameters()), {}, []
    losses: dict[int, Any] = {}
    for each in instructions:
        i, back = each.microbatch, isinstance(each, Backward)
        if not back:
            x = inputs[i] if inputs is not None else comm.irecv(comm.rank - 1).wait()
            x.requires_grad = inputs is None
            y = module(x)
            if targets is not None:
                y = loss(y, targets[i])
                losses[i] = y.detach()
            else:
                requests.append(comm.isend(y, comm.rank + 1))
            kept[i] = x, y
            continue
        x, y = kept.pop(i)
        if targets is not None:
            gradient = torch.full_like(y, 1 / len(targets))
        else:
            gradient = comm.recv(comm.rank + 1)
        found = torch.autograd.grad(y, [*parameters, *([x] * (inputs is None))], gradient)
        for parameter, more in zip(parameters, found, strict=False):
            parameter.grad = more if parameter.grad is None else parameter.grad + more
        if inputs is None:
            requests.append(comm.isend(found[-1], comm.rank - 1))
    while requests:
        requests.pop().wait()
    return torch.stack(list(losses.values())).mean() if targets is not None else None


class _Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fn: Any, x: Any) -> Any:
        ctx.fn, ctx.x, ctx.random = fn, x.clone(), torch.get_rng_state()
        return fn(ctx.x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_rng_state(ctx.random)
            x = ctx.x.requires_grad_()
            (ctx.fn(x) * gradients[0]).sum().backward()
        return None, x.grad


def recompute_from_a_copy(fn: Any, x: Any) -> Any:
    """Keeps a copy of x by itself, and goes back through a sum of products."""
    return _Again.apply(fn, x)


def zero_bubble_last_first(
    stage: int, stages: int, microbatches: int, times: int = 1
) -> Iterator[Any]:
    """Of the halves that wait the last one first."""
    ahead = min(times * (stages - 1 - stage), microbatches)
    yield from (Forward(i) for i in range(ahead))
    waiting: list[int] = []
    for i in range(microbatches):
        if i + ahead < microbatches:
            yield Forward(i + ahead)
        yield BackwardInput(i)
        waiting.append(i)
        if len(waiting) > times * stage:
            yield BackwardWeights(waiting.pop())
    while waiting:
        yield BackwardWeights(waiting.pop())


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("13.1", bubble_as_a_fraction),
    ("13.2", gpipe_of_an_array),
    ("13.3", one_by_one_by_counting),
    ("13.4", run_stage_by_gradients),
    ("13.5", recompute_from_a_copy),
    ("13.6", zero_bubble_last_first),
]
