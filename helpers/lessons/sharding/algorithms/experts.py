"""Experts on many ranks: each token is worked on by a few of them, wherever it lies.

A layer has E experts, MLPs of one shape, and a router that scores them for each token. A token goes
to the k with the highest scores, and what they make of it is weighted by these. So a layer has E
times the parameters for k times the work. Each rank has some of the experts and some of the tokens;
an all-to-all brings the tokens to their experts and another brings the results home.

Nothing keeps the router from sending everybody to one expert. A rank may therefore send an expert
no more than its **capacity**; the tokens over it are dropped, that is, left out of this layer. And
a loss of its own pulls the router towards equal shares.

Sources: Lepikhin et al., "GShard" (2020), section 2.2; Fedus, Zoph and Shazeer, "Switch
Transformers" (2021), sections 2.1 and 2.2, of which the balancing loss is equations 4 to 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from helpers.lessons.messages.algorithms.collectives import chunk_bounds
from helpers.lessons.sharding.algorithms.all_to_all import Exchange, all_to_all, all_to_all_pairwise

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.bandwidth.algorithms.mesh import Group

    Ranks = Comm | Group
Expert = Callable[[Tensor], Tensor]
"""Rows (tokens, width) to rows of the same shape, each for itself."""
Dispatch = Callable[..., Tensor]
"""`to_experts`, or a function like it."""


def capacity_of(tokens: int, experts: int, factor: float, choices: int = 1) -> int:
    """How many tokens a rank may send to one expert: factor times an equal share, rounded up.

    tokens: of this rank. choices: experts for each token. Switch Transformers, equation 3.
    Example: capacity_of(10, 4, 1.25) is 4: an equal share is 2.5 tokens.
    """
    return math.ceil(factor * choices * tokens / experts)


def balance_loss(logits: Tensor) -> Tensor:
    """E Σ fₑ Pₑ: 1 where experts are used alike, up to E where all tokens go to one.

    logits: (tokens, E), the router's scores. fₑ: the share of tokens whose first choice is e, a
    count that has no gradient. Pₑ: the mean probability of e, which has one. A scalar; it is this
    rank's own, over its own tokens. Without tokens it is 0.
    """
    tokens, experts = logits.shape
    if not tokens:
        return logits.sum()
    shares = torch.bincount(logits.argmax(1), minlength=experts) / tokens
    return experts * (shares * logits.softmax(1).mean(0)).sum()


def to_experts(
    comm: Ranks,
    x: Tensor,
    choice: Tensor,
    capacity: int,
    expert: Expert,
    exchange: Exchange = all_to_all_pairwise,
) -> Tensor:
    """Each token to the rank that it chose, through the expert there, and back to its place.

    x: (tokens, width), this rank's, as many as it likes. choice: (tokens,), the rank of each
    token's expert. capacity: how many tokens this rank may send to one expert, its own among
    them; the first of them in order are sent, and the others are dropped. expert: this rank's.
    Returns (tokens, width), 0 for the dropped. Nothing but tokens travels: a rank sends its kept
    ones that chose another rank, and gives as many back as came. Differentiable with respect to x
    and what the expert is made of.
    """
    taken = [(choice == rank).nonzero()[:, 0][:capacity] for rank in range(comm.size)]
    arrived = all_to_all(comm, [x[rows] for rows in taken], exchange)
    made = expert(torch.cat(arrived))
    back = all_to_all(comm, list(made.split([len(rows) for rows in arrived])), exchange)
    return torch.zeros_like(x).index_copy(0, torch.cat(taken), torch.cat(back))


class ParallelExperts(nn.Module):
    """A layer of experts that lie on the ranks: (tokens, width) to the same shape.

    router: (tokens, width) to (tokens, E) scores, the same on every rank. experts: this rank's,
    cut by `chunk_bounds`: a rank may have several, or none. choices: experts for each token.
    factor: of `capacity_of`; None drops nothing. Over the capacity, tokens' first choices go
    before second ones. `balance` is the last call's balancing loss, `sent` how many tokens it kept
    for each expert. The router's gradients are this rank's, and to be averaged over the ranks; an
    expert's come from the tokens of all ranks.
    """

    def __init__(
        self,
        comm: Ranks,
        router: nn.Module,
        experts: Sequence[nn.Module],
        count: int,
        choices: int = 1,
        factor: float | None = None,
        dispatch: Dispatch = to_experts,
    ) -> None:
        super().__init__()
        self.comm, self.router, self.count = comm, router, count
        self.experts = nn.ModuleList(experts)
        self.choices, self.factor, self.dispatch = choices, factor, dispatch
        bounds = chunk_bounds(count, comm.size)
        # Where expert e lies: on which rank, and as which of that rank's.
        where = [
            (rank, e - start)
            for rank, (start, stop) in enumerate(bounds)
            for e in range(start, stop)
        ]
        self.home, self.slot = torch.tensor(where).reshape(-1, 2).T
        self.slots = max(stop - start for start, stop in bounds)
        self.balance, self.sent = torch.zeros(()), torch.zeros(count, dtype=torch.long)

    def forward(self, x: Tensor) -> Tensor:
        logits = self.router(x)
        self.balance = balance_loss(logits)
        gates, choice = logits.softmax(1).topk(self.choices)
        # First choices of all tokens, then second ones: they are served in this order.
        rows, gate = x.repeat(self.choices, 1), gates.T.reshape(-1, 1)
        made = self._made(rows, choice.T.flatten(), len(x)) * gate
        return made.view(self.choices, *x.shape).sum(0)

    def _made(self, rows: Tensor, choice: Tensor, tokens: int) -> Tensor:
        """What the experts make of rows, which have chosen one each."""
        capacity = (
            len(rows)
            if self.factor is None
            else capacity_of(tokens, self.count, self.factor, self.choices)
        )
        self.sent = torch.bincount(choice, minlength=self.count).clamp(max=capacity)
        made = torch.zeros_like(rows)
        for slot in range(self.slots):
            # The ranks' experts in this place: one for each rank, where it has so many.
            here = (self.slot[choice] == slot).nonzero()[:, 0]
            expert: Any = self.experts[slot] if slot < len(self.experts) else nn.Identity()
            given = rows[here], self.home[choice[here]], capacity, expert
            made = made.index_copy(0, here, self.dispatch(self.comm, *given))
        return made


def all_experts(
    x: Tensor, router: nn.Module, experts: Sequence[nn.Module], choices: int = 1
) -> Tensor:
    """The same layer on one rank, where nothing is dropped: every expert sees every token, and its
    result counts where the token chose it. The baseline for `ParallelExperts`."""
    gates, choice = router(x).softmax(1).topk(choices)
    weights = torch.zeros(len(x), len(experts), dtype=x.dtype).scatter(1, choice, gates)
    return torch.stack([weights[:, e, None] * f(x) for e, f in enumerate(experts)]).sum(0)
