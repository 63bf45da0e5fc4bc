"""Hosts on the virtual clock: what shares a link waits for it, and every byte is counted."""

from __future__ import annotations

import numpy as np
import pytest

import helpers
from helpers.engine.comm import Comm

LATENCY = 1e-3


def to_the_last(comm: Comm, count: int, nbytes: int) -> float:
    """The first `count` ranks send to the last; returns when a rank is through."""
    last = comm.size - 1
    if comm.rank < count:
        comm.send(np.zeros(nbytes, np.uint8), last)
    elif comm.rank == last:
        for source in range(count):
            comm.recv(source)
    return comm.time()


def seconds(count: int, nbytes: int, **options: object) -> float:
    options = {"engine": "virtual", "latency": LATENCY, **options}
    return float(helpers.run(to_the_last, count, nbytes, **options)[-1])  # type: ignore[arg-type]


def test_ranks_of_one_host_share_its_link() -> None:
    one = seconds(1, 1000, ranks_per_host=[3, 1], bandwidth=1e6)
    three = seconds(3, 1000, ranks_per_host=[3, 1], bandwidth=1e6)
    assert (one, three) == (pytest.approx(LATENCY + 1e-3), pytest.approx(LATENCY + 3e-3))


def test_the_slower_of_two_links_decides() -> None:
    for bandwidth in ([1e6, 1e5], [1e5, 1e6]):
        assert seconds(1, 1000, hosts=2, bandwidth=bandwidth) == pytest.approx(LATENCY + 1e-2)


def pairs(comm: Comm, nbytes: int) -> float:
    """The first half of the ranks send to the second, each to its own."""
    half = comm.size // 2
    if comm.rank < half:
        comm.send(np.zeros(nbytes, np.uint8), comm.rank + half)
    else:
        comm.recv(comm.rank - half)
    return comm.time()


@pytest.mark.parametrize(
    ("switch", "wire"), [(None, 1e-3), (4e6, 1e-3), (2e6, 2e-3), ("8mbit", 4e-3)]
)
def test_a_switch_may_be_narrower_than_its_links(switch: float | str | None, wire: float) -> None:
    ended = helpers.run(
        pairs, 1000, engine="virtual", hosts=8, latency=LATENCY, bandwidth=1e6, switch=switch
    )
    assert max(ended) == pytest.approx(LATENCY + wire)


def test_bytes_across_each_link_are_counted() -> None:
    results = helpers.run(to_the_last, 3, 1000, engine="virtual", ranks_per_host=[2, 1, 1])
    assert results.stats.links == [(2000, 0), (1000, 0), (0, 3000)]
    assert results.stats.sent == [{3: 1000}, {3: 1000}, {3: 1000}, {}]


def shares(comm: Comm) -> None:
    comm.shared((1,))


def test_hosts_have_no_memory_in_common() -> None:
    with pytest.raises(helpers.engine.errors.RankFailed, match="no memory in common"):  # type: ignore[attr-defined]
        helpers.run(shares, engine="virtual", hosts=2)
    helpers.run(shares, engine="virtual", hosts=1, ranks=2)
