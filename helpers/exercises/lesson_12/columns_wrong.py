"""The layer of exercise 12.2, and column layers with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Parts = dict[int, Any]


def everybodys(comm: Any, part: Any) -> Parts:
    """Each rank's part, by rank."""
    sending = [comm.isend(part, rank) for rank in range(comm.size) if rank != comm.rank]
    parts = {rank: comm.recv(rank) for rank in range(comm.size) if rank != comm.rank}
    for request in sending:
        request.wait()
    return {**parts, comm.rank: part}


def in_order(comm: Any, parts: Parts) -> Any:
    """The ranks' units, one beside the other."""
    return torch.cat([parts[rank] for rank in range(comm.size)], 1)


def mine(comm: Any, whole: Any) -> slice:
    """This rank's units."""
    units = whole.shape[1]
    return slice(comm.rank * units // comm.size, (comm.rank + 1) * units // comm.size)


def layer(
    comm: Any,
    x: Any,
    weight: Any,
    bias: Any,
    gradient: Any,
    gather: Callable[[Any, Any], Parts] = everybodys,
    put: Callable[[Any, Parts], Any] = in_order,
) -> Any:
    """y and dx. gather: every rank's units of y. put: y of these."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    y = put(comm, gather(comm, x @ weight.T + bias))
    return y, all_reduce_ring(comm, gradient[:, mine(comm, gradient)] @ weight)


def _with(**options: Any) -> Callable[..., Any]:
    """The layer with other options."""

    def column_layer(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
        return layer(comm, x, weight, bias, gradient, **options)

    return column_layer


def _mine_first(comm: Any, parts: Parts) -> Any:
    others = [parts[rank] for rank in range(comm.size) if rank != comm.rank]
    return torch.cat([parts[comm.rank], *others], 1)


def _turned(comm: Any, parts: Parts) -> Any:
    return torch.cat([parts[(comm.rank + i) % comm.size] for i in range(comm.size)], 1)


def _to_itself(comm: Any, part: Any) -> Parts:
    sending = [comm.isend(part, rank) for rank in range(comm.size)]
    parts = {rank: comm.recv(rank) for rank in range(comm.size)}
    for request in sending:
        request.wait()
    return parts


def _without_waiting(comm: Any, part: Any) -> Parts:
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    for rank in others:
        comm.isend(part, rank)
    return {comm.rank: part, **{rank: comm.recv(rank) for rank in others}}


def _through_rank_0(comm: Any, part: Any) -> Parts:
    if comm.rank:
        comm.send(part, 0)
        return {0: comm.recv(0)}
    parts = {rank: comm.recv(rank) for rank in range(1, comm.size)}
    y = in_order(comm, {0: part, **parts})
    for rank in range(1, comm.size):
        comm.send(y, rank)
    return {0: y}


not_gathered = _with(put=lambda comm, parts: parts[comm.rank])
mine_first = _with(put=_mine_first)
turned = _with(put=_turned)
to_itself = _with(gather=_to_itself)
never_waits = _with(gather=_without_waiting)
through_rank_0 = _with(gather=_through_rank_0, put=lambda comm, parts: parts[0])


def own_part(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    y, _ = layer(comm, x, weight, bias, gradient)
    return y, gradient[:, mine(comm, gradient)] @ weight


def from_zeros(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    from helpers.algorithms.messages.collectives import all_reduce_naive

    def gather(comm: Any, part: Any) -> Parts:
        y = gradient.new_zeros(gradient.shape)
        y[:, mine(comm, y)] = part
        return {0: all_reduce_naive(comm, y)}

    return layer(comm, x, weight, bias, gradient, gather, lambda comm, parts: parts[0])


def _changed(change: Callable[..., Any]) -> Callable[..., Any]:
    """The layer, and then something else done with what it takes or gives."""

    def column_layer(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
        return change(comm, x, *layer(comm, x, weight, bias, gradient))

    return column_layer


# As if the gradient had been summed over the ranks first, though each has all of it.
gradient_summed = _changed(lambda comm, x, y, dx: (y, dx * comm.size))
averaged = _changed(lambda comm, x, y, dx: (y, dx / comm.size))
in_place = _changed(lambda comm, x, y, dx: (y, x.copy_(dx)))


def no_bias(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    return layer(comm, x, weight, bias * 0, gradient)


def sends_weights(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    weights, biases = everybodys(comm, weight), everybodys(comm, bias)
    whole = torch.cat([weights[rank] for rank in range(comm.size)])
    shift = torch.cat([biases[rank] for rank in range(comm.size)])
    return x @ whole.T + shift, gradient @ whole
