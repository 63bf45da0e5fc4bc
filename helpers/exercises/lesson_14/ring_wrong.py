"""Attention in a ring with one thing wrong, for exercise 14.7."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from helpers.exercises.lesson_14.shared import told_by_all

Scores = Callable[..., Any]


def _masked(comm: Any, scores: Any, places: Any, source: int) -> Any:
    if places is None:
        return scores
    later = places[source][None, :] > places[comm.rank][:, None]
    return scores.masked_fill(later, -math.inf)


def _old(top: Any, higher: Any) -> Any:
    return (top - higher).exp()


def _end(mixed: Any, total: Any, top: Any) -> Any:
    return mixed / total[..., None], top + total.log()


def _sent_on(comm: Any, block: Any, own: Any) -> Any:
    """What comes from the left while the block goes to the right."""
    sending = comm.isend(block, (comm.rank + 1) % comm.size)
    arrived = comm.recv((comm.rank - 1) % comm.size)
    sending.wait()
    return arrived


def _ring(
    *,
    mask: Scores = _masked,
    old: Callable[[Any, Any], Any] = _old,
    old_values: Callable[[Any, Any], Any] | None = None,
    end: Callable[[Any, Any, Any], Any] = _end,
    scale: Callable[[int], float] = math.sqrt,
    way: int = -1,
    rounds: int = 0,
    used: Callable[[Any, Any], Any] = lambda block, own: block,
    parts: tuple[int, int] = (0, 1),
    send: Callable[[Any, Any, Any], Any] = _sent_on,
    queries: bool = False,
) -> Callable[..., Any]:
    """The right one, with one thing exchanged.

    mask: of (comm, scores, places, source). old, old_values: what old sums are multiplied by, of
    (old maximum, new one). end: what is returned, of mixed, total and top. scale: of the width.
    way: from step to step, to the block's rank. rounds: steps too many. used: which block is worked
    on, of the one that is here and the own. parts: where keys and values stand in a block. send: as
    `_sent_on`. queries: whether they travel as well.
    """

    def ring_attention(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
        import torch

        own = block = torch.stack([key, value, query] if queries else [key, value])
        top = query.new_full(query.shape[:-1], -math.inf)
        total, mixed = torch.zeros_like(top), torch.zeros_like(query)
        for step in range(comm.size + min(rounds, 0)):
            here = used(block, own)
            scores = query @ here[parts[0]].transpose(-1, -2) / scale(query.shape[-1])
            scores = mask(comm, scores, places, (comm.rank + way * step) % comm.size)
            higher = torch.maximum(top, scores.amax(-1))
            weights = (scores - higher[..., None]).exp()
            # Nothing is old in the first step.
            factor = old(top, higher) if step else 1.0
            factor_values = (old_values or old)(top, higher)[..., None] if step else 1.0
            total = total * factor + weights.sum(-1)
            mixed = mixed * factor_values + weights @ here[parts[1]]
            top = higher
            if comm.size > 1 and step < comm.size - 1 + max(rounds, 0):
                block = send(comm, block, own)
        return end(mixed, total, top)

    return ring_attention


def _ones(top: Any, higher: Any) -> Any:
    return (top - top).exp()


def _softmaxes(mean: bool) -> Callable[..., Any]:
    """A softmax for each block, and their results averaged or added; right logarithms."""

    def ring_attention(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
        import torch

        block, found, sums = torch.stack([key, value]), [], []
        for step in range(comm.size):
            scores = query @ block[0].transpose(-1, -2) / math.sqrt(query.shape[-1])
            scores = _masked(comm, scores, places, (comm.rank - step) % comm.size)
            found.append(torch.nan_to_num(scores.softmax(-1)) @ block[1])
            sums.append(scores.logsumexp(-1))
            if step < comm.size - 1:
                block = _sent_on(comm, block, None)
        mixed = torch.stack(found)
        return mixed.mean(0) if mean else mixed.sum(0), torch.stack(sums).logsumexp(0)

    return ring_attention


def _own_alone(comm: Any, scores: Any, places: Any, source: int) -> Any:
    return _masked(comm, scores, places, source) if source == comm.rank else scores


def _triangle(comm: Any, scores: Any, places: Any, source: int) -> Any:
    import torch

    if places is None:
        return scores
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)


def _turned(comm: Any, scores: Any, places: Any, source: int) -> Any:
    if places is None:
        return scores
    earlier = places[source][None, :] < places[comm.rank][:, None]
    return scores.masked_fill(earlier, -math.inf)


def _with_zero(comm: Any, scores: Any, places: Any, source: int) -> Any:
    if places is None:
        return scores
    return scores * (places[source][None, :] <= places[comm.rank][:, None])


def _strict(comm: Any, scores: Any, places: Any, source: int) -> Any:
    if places is None:
        return scores
    later = places[source][None, :] >= places[comm.rank][:, None]
    return scores.masked_fill(later, -math.inf)


old_sums = _ring(old=_ones)
old_values = _ring(old_values=_ones)
old_weights = _ring(old=_ones, old_values=_old)
upside_down = _ring(old=lambda top, higher: (higher - top).exp())
mean_of_blocks = _softmaxes(mean=True)
sum_of_blocks = _softmaxes(mean=False)
not_divided = _ring(end=lambda mixed, total, top: (mixed, top + total.log()))
no_mask = _ring(mask=lambda comm, scores, places, source: scores)
own_mask = _ring(mask=_own_alone)
triangle = _ring(mask=_triangle)
turned = _ring(mask=_turned)
other_way = _ring(way=1)
zero_mask = _ring(mask=_with_zero)
no_root = _ring(scale=lambda width: 1.0)
by_width = _ring(scale=float)
one_short = _ring(rounds=-1)
own_only = _ring(used=lambda block, own: own)
passes_own = _ring(send=lambda comm, block, own: _sent_on(comm, own, own))
swapped = _ring(parts=(0, 0))
log_alone = _ring(end=lambda mixed, total, top: (mixed / total[..., None], total.log()))
no_log = _ring(end=lambda mixed, total, top: (mixed / total[..., None], total))
top_alone = _ring(end=lambda mixed, total, top: (mixed / total[..., None], top))
strict = _ring(mask=_strict)
values_alone = _ring(end=lambda mixed, total, top: mixed / total[..., None])
kept_dimension = _ring(
    end=lambda mixed, total, top: (mixed / total[..., None], (top + total.log())[..., None])
)
all_round = _ring(rounds=1)
with_queries = _ring(queries=True)


def no_maximum(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    import torch

    block, mixed = torch.stack([key, value]), torch.zeros_like(query)
    total = torch.zeros_like(query[..., 0])
    for step in range(comm.size):
        scores = query @ block[0].transpose(-1, -2) / math.sqrt(query.shape[-1])
        weights = _masked(comm, scores, places, (comm.rank - step) % comm.size).exp()
        total, mixed = total + weights.sum(-1), mixed + weights @ block[1]
        if step < comm.size - 1:
            block = _sent_on(comm, block, None)
    return mixed / total[..., None], total.log()


def own_last(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    """Passes on before it works: the own block is back, from nowhere, at the end."""
    import torch

    own = block = torch.stack([key, value])
    top = query.new_full(query.shape[:-1], -math.inf)
    total, mixed = torch.zeros_like(top), torch.zeros_like(query)
    for step in range(1, comm.size + 1):
        block = _sent_on(comm, block, own) if step < comm.size else own
        scores = query @ block[0].transpose(-1, -2) / math.sqrt(query.shape[-1])
        scores = _masked(comm, scores, places, (comm.rank - step) % comm.size)
        higher = torch.maximum(top, scores.amax(-1))
        weights = (scores - higher[..., None]).exp()
        total = total * _old(top, higher) + weights.sum(-1)
        mixed = mixed * _old(top, higher)[..., None] + weights @ block[1]
        top = higher
    return _end(mixed, total, top)


def in_place(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    result = _ring()(comm, query, key, value, places)
    query *= 1 / math.sqrt(query.shape[-1])
    return result


def to_everybody(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    import torch

    told = told_by_all(comm, torch.stack([key, value]), waits=True)
    return _over(comm, query, told, places)


def _over(comm: Any, query: Any, told: list[Any], places: Any) -> Any:
    """Attention over all blocks at once."""
    import torch

    keys, values = torch.cat([t[0] for t in told], -2), torch.cat([t[1] for t in told], -2)
    scores = query @ keys.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if places is not None:
        later = torch.cat(list(places))[None, :] > places[comm.rank][:, None]
        scores = scores.masked_fill(later, -math.inf)
    return scores.softmax(-1) @ values, scores.logsumexp(-1)


def gathers_first(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    import torch

    told = [torch.stack([key, value])] * comm.size
    for step in range(1, comm.size):
        source = (comm.rank - step) % comm.size
        told[source] = _sent_on(comm, told[(source + 1) % comm.size], None)
    return _over(comm, query, told, places)


def receives_more(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    """Begins to receive once for every rank, itself among them."""
    left = (comm.rank - 1) % comm.size
    arriving = [comm.irecv(left) for _ in range(comm.size)] if comm.size > 1 else []

    def send(comm: Any, block: Any, own: Any) -> Any:
        sending = comm.isend(block, (comm.rank + 1) % comm.size)
        arrived = arriving.pop(0).wait()
        sending.wait()
        return arrived

    return _ring(send=send)(comm, query, key, value, places)


def no_wait(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    def send(comm: Any, block: Any, own: Any) -> Any:
        comm.isend(block, (comm.rank + 1) % comm.size)
        return comm.recv((comm.rank - 1) % comm.size)

    return _ring(send=send)(comm, query, key, value, places)


def blocking(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    def send(comm: Any, block: Any, own: Any) -> Any:
        comm.send(block, (comm.rank + 1) % comm.size)
        return comm.recv((comm.rank - 1) % comm.size)

    return _ring(send=send)(comm, query, key, value, places)
