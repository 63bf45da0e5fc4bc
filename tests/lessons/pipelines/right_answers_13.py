"""Right answers to lesson 13 that differ from the references."""

from __future__ import annotations

from collections import deque
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


def bubble_in_seconds(
    stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0
) -> Any:
    """Seconds over seconds, as a tensor in single precision."""
    slot = torch.tensor(forward + backward)
    whole = (microbatches + stages - 1) * slot
    return 1 - microbatches * slot / whole


def bubble_by_playing(
    stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0
) -> Any:
    """Plays the step in an array of times, as one does with a pencil."""
    there = np.zeros((stages, microbatches))
    for stage in range(stages):
        for i in range(microbatches):
            before = max(there[stage - 1, i] if stage else 0.0, there[stage, i - 1] if i else 0.0)
            there[stage, i] = before + forward
    back = there[-1, -1] + microbatches * backward + (stages - 1) * backward
    return np.float64(1 - microbatches * (forward + backward) / back)


def bubble_as_a_fraction(
    stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0
) -> Any:
    """Exact."""
    return Fraction(stages - 1, microbatches + stages - 1)


def gpipe_as_a_list(stage: int, stages: int, microbatches: int) -> Any:
    """A list, made at once."""
    forwards = [Forward(i) for i in range(microbatches)]
    return forwards + [Backward(each.microbatch) for each in forwards[::-1]]


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


def one_by_one_in_a_queue(stage: int, stages: int, microbatches: int) -> Any:
    """A queue of what is under way, and another list at the end."""
    told, under_way = [], deque[int]()
    for i in range(microbatches):
        told.append(Forward(i))
        under_way.append(i)
        if len(under_way) == stages - stage:
            told.append(Backward(under_way.popleft()))
    return tuple(told + [Backward(i) for i in under_way])


def one_by_one_in_another_order(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Takes the microbatches from the last to the first, on every stage."""
    for each in one_by_one_by_counting(stage, stages, microbatches):
        yield type(each)(microbatches - 1 - each.microbatch)


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


def run_stage_with_a_surrogate(
    comm: Any, module: Any, instructions: Any, inputs: Any, targets: Any, loss: Any
) -> Any:
    """Goes back through the sum of output times gradient; clears what the step before left."""
    module.zero_grad()
    first, last = comm.rank == 0, comm.rank + 1 == comm.size
    ins: dict[int, Any] = {}
    outs: dict[int, Any] = {}
    sent, total = [], 0.0

    def go(each: Any) -> None:
        nonlocal total
        i = each.microbatch
        if type(each) is Forward:
            ins[i] = inputs[i] if first else comm.recv(comm.rank - 1).requires_grad_(True)
            outs[i] = module(ins[i])
            if not last:
                sent.append(comm.isend(outs[i].detach(), comm.rank + 1))
            return
        if last:
            value = loss(outs.pop(i), targets[i]) * (1 / len(targets))
            total = total + float(value.detach())
        else:
            value = (outs.pop(i) * comm.recv(comm.rank + 1)).sum()
        value.backward()
        if not first:
            sent.append(comm.isend(ins[i].grad, comm.rank - 1))
        del ins[i]

    for each in instructions:
        go(each)
    for request in sent:
        request.wait()
    return total if last else None


def run_stage_with_other_names(
    comm: Any, module: Any, instructions: Any, inputs: Any, targets: Any, loss: Any
) -> Any:
    """A list of the instructions, other names on the way back, the loss summed in float32."""
    first, last = comm.rank == 0, comm.rank == comm.size - 1
    xs: dict[int, Any] = {}
    outs: dict[int, Any] = {}
    sending, total = [], torch.tensor(0.0)
    for each in list(instructions):
        i = each.microbatch
        if isinstance(each, Forward):
            x = inputs[i] if first else comm.recv(comm.rank - 1).requires_grad_()
            out = module(x)
            if last:
                out = loss(out, targets[i]) / len(targets)
                total += out.detach()
            else:
                sending.append(comm.isend(out.detach(), comm.rank + 1))
            xs[i], outs[i] = x, out
        else:
            gradient = None if last else comm.recv(comm.rank + 1)
            outs.pop(i).backward(gradient)
            entered = xs.pop(i)
            if not first:
                sending.append(comm.isend(entered.grad, comm.rank - 1))
    for request in sending:
        request.wait()
    return total.item() if last else None


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


def recompute_by_a_hook(fn: Any, x: Any) -> Any:
    """Hangs the second run on a hook of the output's gradient."""
    random, kept = torch.get_rng_state(), x.detach()
    with torch.no_grad():
        out = fn(x)
    again: dict[str, Any] = {}
    joined = _Join.apply(x, out, again)

    def second(gradient: Any) -> Any:
        now = torch.get_rng_state()
        torch.set_rng_state(random)
        with torch.enable_grad():
            start = kept.clone().requires_grad_()
            fn(start).backward(gradient)
        torch.set_rng_state(now)
        again["x"] = start.grad
        return gradient

    joined.register_hook(second)
    return joined


class _Join(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, out: Any, again: dict[str, Any]) -> Any:
        ctx.again = again
        return out.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return ctx.again["x"], None, None


def recompute_with_torch(fn: Any, x: Any) -> Any:
    """torch's own, which works by hooks on what autograd saves."""
    from torch.utils.checkpoint import checkpoint

    return checkpoint(fn, x, use_reentrant=False)


def zero_bubble_by_counting(stage: int, stages: int, microbatches: int, times: int = 1) -> Any:
    """Whatever comes next: W as soon as more are held than may be."""
    forward = gradient = weights = 0
    most = times * stages - (times - 1)
    out: list[Any] = []
    while weights < microbatches:
        ahead = times * (stages - 1 - stage)
        if forward < microbatches and forward - gradient <= ahead and forward - weights < most:
            out.append(Forward(np.int64(forward)))
            forward += 1
        elif gradient < microbatches and gradient < forward:
            out.append(BackwardInput(gradient))
            gradient += 1
            if gradient - weights > times * stage:
                out.append(BackwardWeights(weights))
                weights += 1
        else:
            out.append(BackwardWeights(weights))
            weights += 1
    return out


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
    ("13.1", bubble_in_seconds),
    ("13.1", bubble_by_playing),
    ("13.1", bubble_as_a_fraction),
    ("13.2", gpipe_as_a_list),
    ("13.2", gpipe_of_an_array),
    ("13.3", one_by_one_by_counting),
    ("13.3", one_by_one_in_a_queue),
    ("13.3", one_by_one_in_another_order),
    ("13.4", run_stage_by_gradients),
    ("13.4", run_stage_with_a_surrogate),
    ("13.4", run_stage_with_other_names),
    ("13.5", recompute_from_a_copy),
    ("13.5", recompute_by_a_hook),
    ("13.5", recompute_with_torch),
    ("13.6", zero_bubble_by_counting),
    ("13.6", zero_bubble_last_first),
]
