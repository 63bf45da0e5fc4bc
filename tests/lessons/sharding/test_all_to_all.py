"""All-to-all: who gets what, what is sent, and the way back for gradients."""

from __future__ import annotations

import pytest
import torch

import helpers
from helpers.lessons.sharding.algorithms.all_to_all import (
    all_to_all,
    all_to_all_direct,
    all_to_all_pairwise,
)

EXCHANGES = {"direct": all_to_all_direct, "pairwise": all_to_all_pairwise}
SIZES = [1, 2, 3, 5]


def part(source: int, to: int, uneven: bool = True) -> torch.Tensor:
    """What a rank has for another: rows that tell of both, some parts without any."""
    rows = (source + 2 * to) % 3 if uneven else 2
    return torch.full((rows, 2), 10.0 * source + to, dtype=torch.float64)


def exchanged(comm, name: str, uneven: bool):
    parts = [part(comm.rank, to, uneven) for to in range(comm.size)]
    arrived = EXCHANGES[name](comm, parts)
    kept = all(torch.equal(now, part(comm.rank, to, uneven)) for to, now in enumerate(parts))
    return [t.clone() for t in arrived], kept


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", list(EXCHANGES))
def test_everybody_gets_what_is_theirs(engine, size, name):
    run = helpers.run(exchanged, name, True, ranks=size, engine=engine)
    for rank, (arrived, kept) in enumerate(run):
        assert kept
        assert [t.tolist() for t in arrived] == [part(s, rank).tolist() for s in range(size)]
    for rank in range(size):
        sent = sum(part(rank, to).nbytes for to in range(size) if to != rank)
        assert (run.stats.bytes[rank], run.stats.messages[rank]) == (sent, size - 1)


def test_pairwise_takes_as_many_rounds_and_nobody_queues():
    # Parts of 32 B; a link takes 32 s for one. Direct, each rank's link takes them one by one too.
    clock = {"engine": "virtual", "latency": 1.0, "bandwidth": 1.0}
    pairwise, direct = (
        helpers.run(exchanged, name, False, ranks=4, **clock) for name in ("pairwise", "direct")
    )
    assert max(pairwise.stats.seconds) == pytest.approx(3 * 33.0)
    assert max(direct.stats.seconds) > max(pairwise.stats.seconds)


def trained(comm, name: str):
    """Gradients of what a rank gave to each, where rank r weighs its part of rank s by r + 10 s."""
    parts = [part(comm.rank, to).requires_grad_() for to in range(comm.size)]
    arrived = all_to_all(comm, parts, EXCHANGES[name])
    sum(((comm.rank + 10 * s) * t).sum() for s, t in enumerate(arrived)).backward()
    return [p.grad for p in parts]


@pytest.mark.parametrize(("size", "name"), [(1, "direct"), (3, "direct"), (5, "pairwise")])
def test_gradients_go_back_the_same_way(engine, size, name):
    for rank, gradients in enumerate(helpers.run(trained, name, ranks=size, engine=engine)):
        for to, gradient in enumerate(gradients):
            assert torch.equal(gradient, torch.full_like(part(rank, to), to + 10.0 * rank))


def test_a_part_is_missing(engine):
    for exchange in EXCHANGES.values():
        with pytest.raises(Exception, match="1 parts for 2 ranks"):
            helpers.run(lambda comm, e=exchange: e(comm, [torch.ones(1)]), ranks=2, engine=engine)
