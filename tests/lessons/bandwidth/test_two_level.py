"""The two-level all-reduce: the sum of all ranks, and as few bytes over each link as can be."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.bandwidth.algorithms.two_level import (
    all_reduce_two_level,
    two_level_seconds,
)

LAYOUTS = [[1], [3], [1, 1], [1, 4], [3, 1, 2], [2, 2, 2], [4, 4]]


def sums(comm: Comm) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """This rank's sums of several lengths, and what it handed in."""
    torch.manual_seed(100 + comm.rank)
    given = [torch.randn(length, 3, dtype=torch.float64) for length in (0, 7, 24)]
    return [(all_reduce_two_level(comm, mine.clone()), mine) for mine in given]


@pytest.mark.parametrize(
    ("engine", "layout"),
    [
        *(("virtual", layout) for layout in LAYOUTS),
        pytest.param("hosts", [2, 1, 2], marks=[pytest.mark.thorough, pytest.mark.hosts]),
    ],
    ids=str,
)
def test_it_is_the_sum_wherever_ranks_are(engine: str, layout: list[int]) -> None:
    results = helpers.run(sums, engine=engine, ranks_per_host=layout)
    for which in range(3):
        wanted = sum(each[which][1] for each in results)
        for each in results:
            torch.testing.assert_close(each[which][0], wanted, rtol=1e-12, atol=1e-12)


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
