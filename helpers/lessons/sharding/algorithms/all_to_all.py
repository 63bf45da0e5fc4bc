"""All-to-all: every rank has something of its own for every other.

An all-gather gives everybody the same. Here rank r's part for rank q goes to q alone, and parts may
be of any length, also none: a message says how long it is. What one rank has for itself does not
travel. Write N for the number of ranks.

Source: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
MPICH" (2005), section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.bandwidth.algorithms.mesh import Group

    Ranks = Comm | Group
Exchange = Callable[["Ranks", Sequence[Tensor]], list[Tensor]]
"""Takes this rank's part for every rank, and gives every rank's part for this one."""


def all_to_all_direct(comm: Ranks, parts: Sequence[Tensor]) -> list[Tensor]:
    """Send part q to rank q, all at once; returns every rank's part for this one, in rank order.

    parts: one tensor for each rank, of one type and of any length. The own part is returned as it
    is. N − 1 messages are under way from every rank at the same time, and all begin with rank 0:
    its link is full while the others' are idle.
    Raises ValueError where there is not a part for each rank.
    """
    _check(comm, parts)
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    sending = [comm.isend(parts[rank].contiguous(), rank) for rank in others]
    arrived = [parts[rank] if rank == comm.rank else comm.recv(rank) for rank in range(comm.size)]
    for request in sending:
        request.wait()
    return arrived


def all_to_all_pairwise(comm: Ranks, parts: Sequence[Tensor]) -> list[Tensor]:
    """As `all_to_all_direct`, in N − 1 rounds: in round s to the rank s on, from the one s back.

    Every link has one message to send and one to take in a round, so nobody queues; but a round
    is as long as its longest message.
    """
    _check(comm, parts)
    arrived = list(parts)
    for step in range(1, comm.size):
        to, source = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        sending = comm.isend(parts[to].contiguous(), to)
        arrived[source] = comm.recv(source)
        sending.wait()
    return arrived


def _check(comm: Ranks, parts: Sequence[Tensor]) -> None:
    if len(parts) != comm.size:
        raise ValueError(f"{len(parts)} parts for {comm.size} ranks: give one for each, or none.")


class _Exchanged(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, comm: Ranks, exchange: Exchange, *parts: Tensor) -> tuple[Tensor, ...]:
        ctx.comm, ctx.exchange = comm, exchange
        # Not the own part itself, which autograd would take for an input that was given back.
        return tuple(part.clone() for part in exchange(comm, [part.detach() for part in parts]))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, *ctx.exchange(ctx.comm, list(gradients))


def all_to_all(
    comm: Ranks, parts: Sequence[Tensor], exchange: Exchange = all_to_all_pairwise
) -> list[Tensor]:
    """Part q of each rank to rank q, with gradients that go back the same way.

    The gradient of what arrived from a rank is sent to that rank. Every rank has to use something
    of what it got in what it differentiates, or the others wait for its gradients.
    parts, exchange: as in `all_to_all_direct`, which is another exchange.
    """
    return list(_Exchanged.apply(comm, exchange, *parts))
