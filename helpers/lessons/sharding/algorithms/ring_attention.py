"""Attention over a sequence that is cut over ranks: keys and values go round a ring.

Every position's query wants every other position's key. No rank holds them all: each keeps its own
queries, works on the block of keys and values that it has, and passes the block on to its right,
until every block has been everywhere. The softmax over all keys is kept as three running numbers
for a query: the largest score so far, the sum of exponentials under it, and the sum of the values
with these weights. A larger maximum makes the old sums smaller by exp(old − new). The result is
exact, and a rank never holds more than its own part of the sequence and one block that passes.

Sources: Liu, Zaharia and Abbeel, "Ring Attention with Blockwise Transformers for Near-Infinite
Context" (2023), section 3; Milakov and Gimelshein, "Online normalizer calculation for softmax"
(2018), section 3; Dao et al., "FlashAttention" (2022), section 3.1 and appendix B, for backward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.bandwidth.algorithms.mesh import Group

    Ranks = Comm | Group
Places = Sequence[Tensor] | None
Attend = Callable[..., tuple[Tensor, Tensor]]
"""`ring_attention`, or a function like it."""


def ring_attention(
    comm: Ranks, query: Tensor, key: Tensor, value: Tensor, places: Places
) -> tuple[Tensor, Tensor]:
    """Softmax(q kᵀ / √d) v of this rank's queries over the keys and values of all ranks.

    query, key, value: (heads, here, d), at this rank's positions. places: each
    rank's positions; a query does not see later ones. None: every query sees every key.
    Returns the mixed values, (heads, here, d), and the logarithm of each query's sum of
    exponentials, (heads, here), which backward needs. A rank sends every block but its right
    neighbour's own, and nothing to anybody else.
    """
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    block, mixed = torch.stack([key, value]), torch.zeros_like(query)
    top, total = query.new_full(query.shape[:-1], -math.inf), query.new_zeros(query.shape[:-1])
    for step in range(comm.size):
        last = step == comm.size - 1
        sending = None if last else comm.isend(block, right)
        # The own block comes first: every query sees itself there, so top is finite from then on.
        scores = _scores(query, block[0], places, comm.rank, (comm.rank - step) % comm.size)
        top, total, mixed = _with_more(top, total, mixed, scores, block[1])
        if sending is not None:
            arrived = comm.recv(left)
            sending.wait()
            block = arrived
    return mixed / total[..., None], top + total.log()


def _with_more(
    top: Tensor, total: Tensor, mixed: Tensor, scores: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The three running numbers once some more keys' scores and values are in."""
    if not scores.shape[-1]:
        return top, total, mixed  # a rank without positions: there are fewer than ranks
    higher = torch.maximum(top, scores.amax(-1))
    weights, shrunk = (scores - higher[..., None]).exp(), (top - higher).exp()
    return higher, total * shrunk + weights.sum(-1), mixed * shrunk[..., None] + weights @ value


def _scores(query: Tensor, key: Tensor, places: Places, rank: int, source: int) -> Tensor:
    """q kᵀ / √d of rank `rank`'s queries and rank `source`'s keys, −∞ where a key is later."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if places is None:
        return scores
    later = places[source][None, :] > places[rank][:, None]
    return scores.masked_fill(later.to(scores.device), -math.inf)


def ring_gradients(
    comm: Ranks,
    tensors: Sequence[Tensor],
    mixed: Tensor,
    log_sums: Tensor,
    places: Places,
    above: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of query, key and value, where `above` is that of the mixed values.

    tensors: (query, key, value); mixed, log_sums: what `ring_attention` gave for them.
    The weights are made again, exp(score − log sum), so that nothing was kept for them. The
    gradients of keys and values travel with their block, every rank adds its share, and after N
    steps they are home: a rank sends N − 1 blocks, and N of these gradients.
    """
    query, key, value = tensors
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    block, of_query = torch.stack([key, value]), torch.zeros_like(query)
    of_block = torch.zeros_like(block)
    # What the softmax's own gradient subtracts: Σ weight · ∂weight, which is ∂out · out.
    inner = (above * mixed).sum(-1, keepdim=True)
    scale = 1 / math.sqrt(query.shape[-1])
    for step in range(comm.size):
        passing = [] if step == comm.size - 1 else [comm.isend(block, right)]
        scores = _scores(query, block[0], places, comm.rank, (comm.rank - step) % comm.size)
        weights = (scores - log_sums[..., None]).exp()
        of_scores = weights * (above @ block[1].transpose(-1, -2) - inner) * scale
        of_query += of_scores @ block[0]
        of_block[0] += of_scores.transpose(-1, -2) @ query
        of_block[1] += weights.transpose(-1, -2) @ above
        if comm.size == 1:
            break
        arrived = comm.recv(left) if passing else block
        passing.append(comm.isend(of_block, right))
        home = comm.recv(left)
        for request in passing:
            request.wait()
        block, of_block = arrived, home
    return of_query, of_block[0], of_block[1]


class _Ring(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, comm: Ranks, places: Places, attend: Attend, *tensors: Tensor) -> Tensor:
        mixed, log_sums = map(torch.as_tensor, attend(comm, *tensors, places))
        ctx.comm, ctx.places = comm, places
        ctx.save_for_backward(*tensors, mixed, log_sums)
        return mixed

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        *tensors, mixed, log_sums = ctx.saved_tensors
        found = ring_gradients(ctx.comm, tensors, mixed, log_sums, ctx.places, gradients[0])
        return None, None, None, *found


def attention_in_ring(
    comm: Ranks,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    places: Places,
    attend: Attend = ring_attention,
) -> Tensor:
    """`ring_attention`'s mixed values, with a backward that goes round the ring as well.

    All ranks go through backward, or their neighbours wait for them. attend: gives the values and
    the logarithms of the sums as `ring_attention` does.
    """
    result: Tensor = _Ring.apply(comm, places, attend, query, key, value)
    return result
