"""Right answers to exercises 14.4 to 14.6 that differ from the references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from helpers.lessons.messages.algorithms.collectives import (
    all_gather_ring,
    chunk_bounds,
    reduce_scatter_ring,
)


def bytes_by_cases(parameters: int, ranks: int, stage: int) -> int:
    """Four formulas, in whole bytes."""
    rest = {0: 16, 1: 4, 2: 2, 3: 0}[stage]
    return rest * parameters + (16 - rest) * parameters // ranks


def bytes_part_by_part(parameters: int, ranks: int, stage: int) -> float:
    """Element by element of what is kept, and a tensor that comes back."""
    shares = torch.ones(5, dtype=torch.float64)
    for first, parts in ((1, [2, 3, 4]), (2, [1]), (3, [0])):
        if stage >= first:
            shares[parts] /= ranks
    return torch.dot(shares, torch.tensor([2.0, 2, 4, 4, 4], dtype=torch.float64)) * parameters


def step_by_messages(
    comm: Any, parameters: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    """Chunks sent straight to their owners, and the owners' slices straight to everybody."""
    bounds = [
        (r * len(parameters) // comm.size, (r + 1) * len(parameters) // comm.size)
        for r in range(comm.size)
    ]
    others = [r for r in range(comm.size) if r != comm.rank]
    start, stop = bounds[comm.rank]
    sent = [comm.isend(gradient[slice(*bounds[r])].clone(), r) for r in others]
    mean = gradient[start:stop].clone()
    for other in others:
        mean += comm.recv(other)
    mean /= comm.size
    momentum.copy_(beta * momentum + mean)
    parameters[start:stop].sub_(momentum, alpha=rate)
    sent += [comm.isend(parameters[start:stop].clone(), r) for r in others]
    for other in others:
        parameters[slice(*bounds[other])] = comm.recv(other)
    for request in sent:
        request.wait()


def step_with_an_optimizer(
    comm: Any, parameters: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    """torch's SGD on a view of the slice, its momentum handed to it."""
    slice_of = reduce_scatter_ring(comm, gradient.div_(comm.size))
    start, stop = chunk_bounds(len(parameters), comm.size)[comm.rank]
    own = nn.Parameter(parameters[start:stop])
    own.grad = slice_of
    optimizer = torch.optim.SGD([own], rate, momentum=beta)
    optimizer.state[own]["momentum_buffer"] = momentum
    optimizer.step()
    all_gather_ring(comm, parameters)


def linear_with_a_class(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    """A function that is given everything, and messages instead of rings."""

    def whole(part: Any) -> Any:
        sent = [comm.isend(part.detach(), r) for r in range(comm.size) if r != comm.rank]
        parts = [part if r == comm.rank else comm.recv(r) for r in range(comm.size)]
        for request in sent:
            request.wait()
        return torch.cat(parts).reshape(shape)

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, own: Any) -> Any:
            ctx.x, ctx.own = x, own
            return functional.linear(x, whole(own))

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            flat = torch.einsum("ro,ri->oi", gradients[0], ctx.x).flatten()
            return gradients[0].mm(whole(ctx.own)), reduce_scatter_ring(comm, flat).clone()

    return Layer.apply(x, own)


def linear_with_two_functions(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    """Gathering is a function of its own, and what autograd saves is gathered when it is asked."""

    class Gather(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, own: Any) -> Any:
            flat = own.new_empty(shape[0] * shape[1])
            flat[slice(*chunk_bounds(len(flat), comm.size)[comm.rank])] = own
            return all_gather_ring(comm, flat).view(shape)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return reduce_scatter_ring(comm, gradients[0].flatten()).clone()

    weight = Gather.apply(own)
    place = weight.data_ptr()  # pack lives as long as the graph: it must not refer to the weight

    def pack(tensor: Any) -> Any:
        return None if tensor.data_ptr() == place else tensor

    def unpack(saved: Any) -> Any:
        return Gather.apply(own.detach()).T if saved is None else saved

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return x @ weight.T


def linear_with_a_checkpoint(comm: Any, x: Any, own: Any, shape: Any) -> Any:
    """torch's own recomputation round a gather that autograd knows."""
    from torch.utils.checkpoint import checkpoint

    class Gather(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, own: Any) -> Any:
            flat = own.new_empty(shape[0] * shape[1])
            flat[slice(*chunk_bounds(len(flat), comm.size)[comm.rank])] = own
            return all_gather_ring(comm, flat)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return reduce_scatter_ring(comm, gradients[0].clone()).clone()

    def used(x: Any, own: Any) -> Any:
        return functional.linear(x, Gather.apply(own).view(shape))

    return checkpoint(used, x, own, use_reentrant=False)


OF_SHARDING: list[tuple[str, Callable[..., Any]]] = [
    ("14.4", bytes_by_cases),
    ("14.4", bytes_part_by_part),
    ("14.5", step_by_messages),
    ("14.5", step_with_an_optimizer),
    ("14.6", linear_with_a_class),
    ("14.6", linear_with_two_functions),
    ("14.6", linear_with_a_checkpoint),
]
