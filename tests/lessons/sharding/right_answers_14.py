"""Right answers to lesson 14 that differ from the references."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from helpers.lessons.messages.algorithms.collectives import (
    all_reduce_ring,
    all_reduce_tree,
    reduce_scatter_ring,
)
from helpers.lessons.sharding.algorithms.all_to_all import all_to_all


def mlp_with_the_bias_on_one_rank(
    comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any
) -> Any:
    """Rank 0's term holds the bias; sums along a tree."""
    mine = slice(comm.rank * len(up) // comm.size, (comm.rank + 1) * len(up) // comm.size)
    hidden = functional.gelu(functional.linear(x, up[mine], up_bias[mine]))
    term = functional.linear(hidden, down[:, mine], down_bias if comm.rank == 0 else None)
    return all_reduce_tree(comm, term)


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


def ring_with_torchs_attention(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    """torch's own attention for each block, put together by softmaxes of the logarithms."""
    parts, sums = [], []
    block = torch.cat([key, value], -1)
    for step in range(comm.size):
        key, value = block.chunk(2, -1)
        mask = torch.ones(query.shape[1], key.shape[1], dtype=torch.bool)
        if places is not None:
            mask = places[comm.rank][:, None] >= places[(comm.rank - step) % comm.size]
        scores = (query @ key.mT / math.sqrt(query.shape[-1])).masked_fill(~mask, -math.inf)
        part = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        parts.append(torch.nan_to_num(part))
        sums.append(torch.logsumexp(scores, -1))
        if step < comm.size - 1:
            request = comm.isend(block, (comm.rank + 1) % comm.size)
            block = comm.recv((comm.rank + comm.size - 1) % comm.size)
            request.wait()
    each = torch.stack(sums)
    return (torch.stack(parts) * each.softmax(0)[..., None]).sum(0), each.logsumexp(0)


def experts_in_sorted_order(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """Sorted by rank, cut by counts, one call of the expert, put back through the order."""
    order = torch.argsort(choice, stable=True)
    groups = order.split(torch.bincount(choice, minlength=comm.size).tolist())
    groups = [group[:capacity] for group in groups]
    arrived = all_to_all(comm, [torch.index_select(x, 0, group) for group in groups])
    made = torch.split(expert(torch.cat(arrived, 0)), [part.shape[0] for part in arrived])
    answers = all_to_all(comm, made)
    out = torch.zeros(x.shape, dtype=x.dtype)
    out[torch.cat(groups)] = torch.cat(answers)
    return out


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("14.1", mlp_with_the_bias_on_one_rank),
    ("14.2", f_g_with_a_hook),
    ("14.3", loss_by_log_sum_exp),
    ("14.4", bytes_part_by_part),
    ("14.5", step_by_messages),
    ("14.6", linear_with_a_class),
    ("14.7", ring_with_torchs_attention),
    ("14.8", experts_in_sorted_order),
]
