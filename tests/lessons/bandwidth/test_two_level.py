"""The two-level all-reduce: the sum of all ranks, and as few bytes over each link as can be."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.bandwidth.algorithms.two_level import (
    all_reduce_two_level,
    counterparts,
    two_level_seconds,
)

LAYOUTS = [[1], [3], [1, 1], [1, 4], [3, 1, 2], [2, 2, 2], [4, 4]]


def sums(comm: Comm, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """This rank's sum, and what it handed in."""
    torch.manual_seed(100 + comm.rank)
    mine = torch.randn(length, 3, dtype=torch.float64)
    tensor = mine.clone()
    returned = all_reduce_two_level(comm, tensor)
    assert returned is tensor
    return tensor, mine


def check(results: Any) -> None:
    wanted = sum(mine for _, mine in results)
    for got, _ in results:
        torch.testing.assert_close(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("length", [0, 7, 24])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_it_is_the_sum_wherever_ranks_are(layout: list[int], length: int) -> None:
    check(helpers.run(sums, length, engine="virtual", ranks_per_host=layout))


@pytest.mark.thorough
@pytest.mark.real
@pytest.mark.hosts
@pytest.mark.parametrize("layout", [[1, 3], [2, 1, 2]], ids=str)
def test_it_is_the_sum_on_hosts(layout: list[int]) -> None:
    results = helpers.run(sums, 7, engine="hosts", ranks_per_host=layout, bandwidth="1gbit")
    here = helpers.run(sums, 7, engine="virtual", ranks_per_host=layout)
    check(results)
    assert results.stats.links == here.stats.links
    assert all(torch.equal(a[0], b[0]) for a, b in zip(results, here, strict=True))


def reduces(comm: Comm, algorithm: Any, length: int) -> float:
    algorithm(comm, torch.zeros(length))
    return comm.time()


@pytest.mark.parametrize(
    ("hosts", "each", "latency"), [(2, 4, 1e-5), (3, 2, 1e-4), (1, 3, 1e-4), (5, 1, 1e-5)]
)
def test_bytes_and_seconds_are_the_models(hosts: int, each: int, latency: float) -> None:
    length = 60 * hosts * each
    links = {"latency": latency, "bandwidth": 1e7, "hosts": hosts, "ranks_per_host": each}
    run = helpers.run(reduces, all_reduce_two_level, length, engine="virtual", **links)  # type: ignore[arg-type]
    wanted = 2 * (hosts - 1) * 4 * length // hosts
    assert run.stats.links == [(wanted, wanted)] * hosts
    seconds = two_level_seconds(4 * length, hosts, each, latency, 1e7, 20e-6, 5e9)
    assert max(run) == pytest.approx(seconds, rel=0.001)


def test_counterparts() -> None:
    assert counterparts([0, 0, 1, 1], 1) == [1, 3]
    assert counterparts([0, 0, 0, 1, 2, 2], 0) == [0, 3, 4]
