"""Right answers to exercises 14.1 to 14.6 that differ from the references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from helpers.lessons.messages.algorithms.collectives import (
    all_gather_ring,
    all_reduce_naive,
    all_reduce_ring,
    all_reduce_tree,
    chunk_bounds,
    reduce_scatter_ring,
)
from helpers.lessons.sharding.algorithms.maximum import all_reduce_max


def mlp_with_the_bias_on_one_rank(
    comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any
) -> Any:
    """Rank 0's term holds the bias; sums along a tree."""
    mine = slice(comm.rank * len(up) // comm.size, (comm.rank + 1) * len(up) // comm.size)
    hidden = functional.gelu(functional.linear(x, up[mine], up_bias[mine]))
    term = functional.linear(hidden, down[:, mine], down_bias if comm.rank == 0 else None)
    return all_reduce_tree(comm, term)


def mlp_with_layers(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Two layers of torch's own that hold the parts, and `tensor_split`'s sizes by hand."""
    units = [r * len(up) // comm.size for r in range(comm.size + 1)]
    start, stop = units[comm.rank], units[comm.rank + 1]
    first = nn.Linear(x.shape[1], stop - start, dtype=x.dtype)
    second = nn.Linear(stop - start, len(down), bias=False, dtype=x.dtype)
    with torch.no_grad():
        first.weight.copy_(up[start:stop])
        first.bias.copy_(up_bias[start:stop])
        second.weight.copy_(down[:, start:stop])
        out = second(functional.gelu(first(x)))
        all_reduce_naive(comm, out)
        return out + down_bias


ONE_ROW: dict[str, Any] = {"memory_format": torch.contiguous_format}


def f_g_with_a_hook(comm: Any) -> Any:
    """f is a hook on a view; g changes the values of a copy, which autograd takes for a copy."""

    def f(x: Any) -> Any:
        seen = x.view_as(x)
        if seen.requires_grad:
            seen.register_hook(lambda gradient: all_reduce_ring(comm, gradient.clone(**ONE_ROW)))
        return seen

    def g(x: Any) -> Any:
        total = x.clone(**ONE_ROW)
        all_reduce_ring(comm, total.data)
        return total

    return f, g


def f_g_in_one_row(comm: Any) -> Any:
    """All numbers in one row, whatever the shape; g adds what autograd takes for a constant."""

    def total(x: Any) -> Any:
        return all_reduce_ring(comm, x.detach().reshape(-1).clone()).view(x.shape)

    class F(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return total(gradients[0])

    def g(x: Any) -> Any:
        return x + (total(x) - x.detach())

    return F.apply, g


def loss_in_three_sums(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """One all-reduce for each number, a mask of zeros and ones, a plain float."""
    top = all_reduce_max(comm, scores.max(dim=1).values.contiguous())
    weights = torch.exp(scores - top.unsqueeze(1))
    total = all_reduce_ring(comm, weights.sum(dim=1))
    one_hot = (targets[:, None] == first + torch.arange(scores.shape[1])).to(scores.dtype)
    target = all_reduce_ring(comm, (one_hot * scores).sum(dim=1))
    loss = torch.log(total) + top - target
    return loss.mean().item(), (weights / total[:, None] - one_hot) / len(targets)


def loss_by_log_sum_exp(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Each rank's logsumexp and target score go to everybody; no maximum is agreed on."""
    columns = (targets - first).clamp(0, scores.shape[1] - 1)
    mine = (targets >= first) & (targets < first + scores.shape[1])
    score = scores.gather(1, columns[:, None])[:, 0].where(mine, torch.zeros(1).to(scores))
    said = torch.zeros(comm.size, 2, len(targets), dtype=scores.dtype)
    said[comm.rank] = torch.stack([scores.logsumexp(1), score])
    all_reduce_ring(comm, said)
    total, target = said[:, 0].logsumexp(0), said[:, 1].sum(0)
    gradient = (scores - total[:, None]).exp()
    gradient[torch.arange(len(targets)), columns] -= mine.to(scores.dtype)
    return [(total - target).mean(), gradient.div(len(targets))]


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


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("14.1", mlp_with_the_bias_on_one_rank),
    ("14.1", mlp_with_layers),
    ("14.2", f_g_with_a_hook),
    ("14.2", f_g_in_one_row),
    ("14.3", loss_in_three_sums),
    ("14.3", loss_by_log_sum_exp),
    ("14.4", bytes_part_by_part),
    ("14.5", step_by_messages),
    ("14.5", step_with_an_optimizer),
    ("14.6", linear_with_a_class),
    ("14.6", linear_with_a_checkpoint),
]
