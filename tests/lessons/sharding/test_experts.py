"""Experts on ranks against all of them on one, forward and backward, in float64; what travels."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import helpers
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, chunk_bounds
from helpers.lessons.sharding.algorithms.all_to_all import all_to_all_direct, all_to_all_pairwise
from helpers.lessons.sharding.algorithms.experts import (
    ParallelExperts,
    all_experts,
    balance_loss,
    capacity_of,
    to_experts,
)

WIDTH, HIDDEN = 4, 6
TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def layer(count: int):
    """A router and experts, the same wherever it is called."""
    with torch.random.fork_rng():
        torch.manual_seed(count)
        router = nn.Linear(WIDTH, count, bias=False).double()
        experts = [
            nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH)).double()
            for _ in range(count)
        ]
    return router, experts


def tokens_of(rank: int, size: int) -> torch.Tensor:
    """This rank's tokens: another number of them on each rank, none on the last of five."""
    count = 0 if rank == 4 else 3 + 2 * rank
    return torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(rank)).double()


def on_ranks(comm, count: int, choices: int):
    """Output and gradients of this rank: of x, of its experts; the router's, summed over ranks."""
    router, experts = layer(count)
    start, stop = chunk_bounds(count, comm.size)[comm.rank]
    model = ParallelExperts(comm, router, experts[start:stop], count, choices)
    x = tokens_of(comm.rank, comm.size).requires_grad_()
    out = model(x)
    out.square().sum().backward()
    of_router = router.weight.grad if router.weight.grad is not None else router.weight * 0
    all_reduce_ring(comm, of_router)
    return out.detach(), x.grad, [p.grad for e in model.experts for p in e.parameters()], of_router


def on_one(size: int, count: int, choices: int):
    router, experts = layer(count)
    xs = [tokens_of(rank, size).requires_grad_() for rank in range(size)]
    outs = [all_experts(x, router, experts, choices) for x in xs]
    sum(out.square().sum() for out in outs).backward()
    return xs, outs, router, experts


@pytest.mark.parametrize(
    ("size", "count", "choices"), [(1, 5, 2), (2, 5, 1), (3, 7, 2), (5, 2, 1), (5, 7, 2)]
)
def test_equal_to_all_experts_where_nothing_is_dropped(engine, size, count, choices):
    xs, outs, router, experts = on_one(size, count, choices)
    ranks = helpers.run(on_ranks, count, choices, ranks=size, engine=engine)
    for rank, (out, of_x, of_experts, of_router) in enumerate(ranks):
        torch.testing.assert_close(out, outs[rank].detach(), **TIGHT)
        torch.testing.assert_close(of_x, xs[rank].grad, **TIGHT)
        torch.testing.assert_close(of_router, router.weight.grad, **TIGHT)
        start, stop = chunk_bounds(count, size)[rank]
        dense = [p.grad for e in experts[start:stop] for p in e.parameters()]
        for mine, whole in zip(of_experts, dense, strict=True):
            wanted = torch.zeros_like(mine) if whole is None else whole
            torch.testing.assert_close(mine, wanted, **TIGHT)


# --- capacity, and what travels -------------------------------------------------------------------


def sent_to(comm, capacity: int, exchange, backward: bool):
    """A rank's tokens, its choices, what came back; expert r multiplies by r + 2."""
    x = tokens_of(comm.rank, comm.size).requires_grad_()
    draw = torch.Generator().manual_seed(7 + comm.rank)
    choice = torch.randint(comm.size, (len(x),), generator=draw)
    out = to_experts(comm, x, choice, capacity, lambda rows: rows * (comm.rank + 2), exchange)
    if backward:
        out.sum().backward()
    return x.detach(), choice, out.detach(), x.grad


def kept_of(choice: torch.Tensor, capacity: int, size: int) -> torch.Tensor:
    """Which tokens are kept: the first `capacity` that chose each rank, counted one by one."""
    seen, kept = [0] * size, []
    for rank in choice.tolist():
        kept.append(seen[rank] < capacity)
        seen[rank] += 1
    return torch.tensor(kept, dtype=torch.bool)


@pytest.mark.parametrize(
    ("size", "capacity", "exchange"),
    [
        (1, 2, all_to_all_direct),
        (2, 0, all_to_all_pairwise),
        (3, 1, all_to_all_direct),
        (5, 2, all_to_all_pairwise),
        (3, 100, all_to_all_pairwise),
    ],
)
def test_exactly_the_routed_tokens_travel(size, capacity, exchange):
    for backward in (False, True):
        run = helpers.run(sent_to, capacity, exchange, backward, ranks=size, engine="virtual")
        rows = torch.zeros(size, size, dtype=torch.long)
        for rank, (x, choice, out, gradient) in enumerate(run):
            kept = kept_of(choice, capacity, size)
            factor = torch.where(kept, choice + 2, 0).double()[:, None]
            torch.testing.assert_close(out, x * factor, rtol=0, atol=0)
            if backward:
                torch.testing.assert_close(gradient, factor.expand_as(x), rtol=0, atol=0)
            rows[rank] = torch.bincount(choice[kept], minlength=size)
        rows.fill_diagonal_(0)
        # There and back; and once more there and back for the gradients.
        wanted = (rows.sum(1) + rows.sum(0)) * WIDTH * 8 * (2 if backward else 1)
        assert run.stats.bytes == wanted.tolist()


@pytest.mark.parametrize("size", [1, 3])
def test_first_choices_are_served_before_second_ones(size):
    def dropping(comm):
        router, experts = layer(4)
        start, stop = chunk_bounds(4, comm.size)[comm.rank]
        model = ParallelExperts(comm, router, experts[start:stop], 4, 2, 0.5)
        x = torch.randn(24, WIDTH, generator=torch.Generator().manual_seed(comm.rank)).double()
        return x, model(x).detach(), model.sent

    router, experts = layer(4)
    for x, out, sent in helpers.run(dropping, ranks=size, engine="virtual"):
        left = [capacity_of(24, 4, 0.5, 2)] * 4
        gates, choice = router(x).softmax(1).topk(2)
        wanted = torch.zeros_like(x)
        for place in range(2):
            for token in range(24):
                e = int(choice[token, place])
                if left[e]:
                    left[e] -= 1
                    wanted[token] += gates[token, place] * experts[e](x[token])
        torch.testing.assert_close(out, wanted.detach(), **TIGHT)
        assert sent.tolist() == [capacity_of(24, 4, 0.5, 2) - each for each in left]


def test_a_capacity_holds_its_share_and_equal_shares_cost_nothing():
    for tokens, factor in ((0, 1), (50, 0.5), (37, 1.25)):
        capacity = capacity_of(tokens, 9, factor)
        assert capacity * 9 >= factor * tokens > (capacity - 1) * 9
    even = torch.eye(9, dtype=torch.float64).repeat(3, 1) * 50
    assert float(balance_loss(even)) == pytest.approx(1.0)
    assert float(balance_loss(even[:1].repeat(8, 1))) == pytest.approx(9)
    assert float(balance_loss(even[:0])) == 0.0
