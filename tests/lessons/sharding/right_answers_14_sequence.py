"""Right answers to 14.7 and 14.8 that differ from the references."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from helpers.lessons.sharding.algorithms.all_to_all import all_to_all


def ring_with_running_sums(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    """One message a step, sums under the largest score, a list for the pair."""
    block, (heads, here, width) = torch.stack([key, value]), query.shape
    top, total = torch.full((heads, here, 1), -math.inf).to(query), 0.0
    mixed = torch.zeros_like(query)
    for step in range(comm.size):
        if step:
            sending = comm.isend(block, (comm.rank + 1) % comm.size)
            block = comm.recv((comm.rank - 1) % comm.size)
            sending.wait()
        scores = torch.matmul(query, block[0].mT) / width**0.5
        if places is not None:
            seen = places[(comm.rank - step) % comm.size] <= places[comm.rank][:, None]
            scores = torch.where(seen, scores, torch.tensor(-math.inf).to(scores))
        higher = torch.maximum(top, scores.max(-1, keepdim=True).values)
        weights, factor = torch.exp(scores - higher), torch.exp(top - higher)
        total = total * factor + weights.sum(-1, keepdim=True)
        mixed, top = mixed * factor + weights.matmul(block[1]), higher
    return [mixed / total, (top + total.log()).squeeze(-1)]


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


def experts_by_a_function(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """Messages by hand inside an autograd function of its own, there and back in one."""

    class Swap(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *parts: Any) -> Any:
            return Swap.exchanged(parts)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return Swap.exchanged(gradients)

        @staticmethod
        def exchanged(parts: Any) -> Any:
            others = [r for r in range(comm.size) if r != comm.rank]
            sending = [comm.isend(parts[r].detach().clone(), r) for r in others]
            got = tuple(
                parts[r].clone() if r == comm.rank else comm.recv(r) for r in range(comm.size)
            )
            for request in sending:
                request.wait()
            return got

    one_hot = functional.one_hot(choice, comm.size)
    going = (one_hot.cumsum(0) * one_hot <= capacity) & (one_hot > 0)
    arrived = Swap.apply(*[x[going[:, r]] for r in range(comm.size)])
    made = expert(torch.vstack(arrived))
    back = Swap.apply(*torch.split(made, [len(a) for a in arrived]))
    return sum(
        torch.zeros_like(x).masked_scatter(going[:, r, None], part) for r, part in enumerate(back)
    )


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("14.7", ring_with_running_sums),
    ("14.7", ring_with_torchs_attention),
    ("14.8", experts_in_sorted_order),
    ("14.8", experts_by_a_function),
]
