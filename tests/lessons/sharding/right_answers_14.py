"""Right answers to lesson 14 that differ from the references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from helpers.lessons.messages.algorithms.collectives import (
    all_reduce_naive,
    all_reduce_ring,
    all_reduce_tree,
)
from helpers.lessons.sharding.algorithms.maximum import all_reduce_max
from tests.lessons.sharding.right_answers_14_sequence import OF_SEQUENCES
from tests.lessons.sharding.right_answers_14_sharding import OF_SHARDING


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


def mlp_with_letters(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Matrix products by einsum, and memory that all ranks share."""
    from helpers.lessons.messages.algorithms.collectives import all_reduce_shared

    start, stop = (r * len(up) // comm.size for r in (comm.rank, comm.rank + 1))
    hidden = torch.einsum("ri,hi->rh", x, up[start:stop]).add(up_bias[start:stop])
    buffers = comm.shared(x.shape, x.dtype)
    buffers[comm.rank].copy_(
        torch.einsum("rh,oh->ro", functional.gelu(hidden), down[:, start:stop])
    )
    return all_reduce_shared(comm, buffers) + down_bias


ONE_ROW: dict[str, Any] = {"memory_format": torch.contiguous_format}


def f_g_with_classes(comm: Any) -> Any:
    """Two autograd functions that are given the comm."""

    class Copy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, comm: Any) -> Any:
            ctx.comm = comm
            return x

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            total = gradients[0].clone(**ONE_ROW)
            all_reduce_ring(ctx.comm, total)
            return total, None

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, comm: Any) -> Any:
            return all_reduce_tree(comm, x.clone(**ONE_ROW))

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0].clone(), None

    return [lambda x: Copy.apply(x, comm), lambda x: Sum.apply(x, comm)]


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


def loss_through_rank_0(comm: Any, scores: Any, targets: Any, first: int) -> Any:
    """Rank 0 hears of two numbers a position from everybody, and tells everybody two."""
    mine = (targets >= first) & (targets < first + scores.shape[1])
    rows, columns = mine.nonzero()[:, 0], targets[mine] - first
    said = torch.stack([scores.logsumexp(1), torch.zeros(len(targets), dtype=scores.dtype)])
    said[1, rows] = scores[rows, columns]
    if comm.rank:
        comm.send(said, 0)
        said = comm.recv(0)
    else:
        for other in range(1, comm.size):
            heard = comm.recv(other)
            said = torch.stack([torch.logaddexp(said[0], heard[0]), said[1] + heard[1]])
        for other in range(1, comm.size):
            comm.send(said, other)
    gradient = (scores - said[0][:, None]).exp()
    gradient[rows, columns] -= 1
    return (said[0] - said[1]).mean(), gradient / len(targets)


OF_TENSOR_PARALLEL: list[tuple[str, Callable[..., Any]]] = [
    ("14.1", mlp_with_the_bias_on_one_rank),
    ("14.1", mlp_with_layers),
    ("14.1", mlp_with_letters),
    ("14.2", f_g_with_classes),
    ("14.2", f_g_with_a_hook),
    ("14.2", f_g_in_one_row),
    ("14.3", loss_in_three_sums),
    ("14.3", loss_by_log_sum_exp),
    ("14.3", loss_through_rank_0),
]

RIGHT: list[tuple[str, Callable[..., Any]]] = [*OF_TENSOR_PARALLEL, *OF_SHARDING, *OF_SEQUENCES]
