"""What `hosts=`, `ranks_per_host=` and `bandwidth=` mean, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

import helpers
from helpers.engine.comm import Comm
from helpers.engine.hosts.network import bytes_a_second, network


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("200mbit", 25e6),
        ("1gbit", 125e6),
        ("1.5 Gbit/s", 187.5e6),
        ("64kbit", 8000.0),
        ("8000bit", 1000.0),
        (25_000_000, 25e6),
        (None, None),
        (math.inf, None),
    ],
)
def test_bandwidths_are_bits_in_words_and_bytes_in_numbers(written: Any, wanted: Any) -> None:
    assert bytes_a_second(written) == wanted


@pytest.mark.parametrize(
    ("asked", "hosts"),
    [
        ({}, (0, 1, 2, 3)),
        ({"hosts": 2}, (0, 1)),
        ({"ranks": 3}, (0, 1, 2)),
        ({"hosts": 2, "ranks_per_host": 3}, (0, 0, 0, 1, 1, 1)),
        ({"hosts": 2, "ranks": 6}, (0, 0, 0, 1, 1, 1)),
        ({"ranks": 6, "ranks_per_host": 2}, (0, 0, 1, 1, 2, 2)),
        ({"ranks_per_host": [3, 1]}, (0, 0, 0, 1)),
        ({"hosts": 2, "ranks_per_host": [3, 1], "ranks": 4}, (0, 0, 0, 1)),
    ],
)
def test_ranks_fill_host_after_host(asked: dict[str, Any], hosts: tuple[int, ...]) -> None:
    assert network(**asked).hosts == hosts


def test_a_list_gives_each_host_its_link() -> None:
    made = network(hosts=3, bandwidth=["100mbit", None, 5e6])
    assert made.bandwidth == (12.5e6, None, 5e6)


@pytest.mark.parametrize("engine", ["hosts", "virtual"])
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"hosts": 0}, "0 hosts are not possible"),
        ({"hosts": 65}, "65 hosts"),
        ({"hosts": 2.5}, "hosts is a whole number, not 2.5"),
        ({"hosts": True}, "hosts is a whole number"),
        ({"hosts": 2, "ranks_per_host": 0}, "1 rank or more"),
        ({"hosts": 2, "ranks_per_host": [1, 2, 3]}, "3 numbers for 2 hosts"),
        ({"hosts": 2, "ranks": 5}, "ranks=5 does not fit 2 hosts"),
        ({"hosts": 3, "ranks_per_host": 2, "ranks": 5}, "does not fit 3 hosts with 2 ranks"),
        ({"hosts": 2, "bandwidth": "200 mb"}, "is not understood: write bits a second"),
        ({"hosts": 2, "bandwidth": -1}, "bytes a second above 0"),
        ({"hosts": 2, "bandwidth": "0mbit"}, "bytes a second above 0"),
        ({"hosts": 2, "bandwidth": ["1gbit"]}, "1 values for 2 hosts"),
        ({"hosts": 2, "bandwidth": [1, 2, 3, 4]}, "4 values for 2 hosts"),
        ({"hosts": 2, "bandwidth": object()}, "bytes a second or None"),
    ],
)
def test_what_cannot_be_gets_a_sentence(engine: str, asked: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        helpers.run(lambda comm: None, engine=engine, **asked)


def test_options_of_other_engines_are_named() -> None:
    with pytest.raises(TypeError, match="it has hosts, ranks_per_host, bandwidth, threads, show"):
        helpers.run(lambda comm: None, engine="hosts", latency=1e-3)
    with pytest.raises(TypeError, match="The processes engine has no option 'hosts'"):
        helpers.run(lambda comm: None, hosts=2)
    with pytest.raises(ValueError, match="give hosts= as well"):
        helpers.run(lambda comm: None, engine="virtual", switch="1gbit")


def places(comm: Comm) -> tuple[int, list[int], tuple[int, ...]]:
    return comm.host, comm.host_ranks, comm.hosts


def test_a_rank_knows_its_host_and_who_is_beside_it() -> None:
    found = helpers.run(places, engine="virtual", ranks_per_host=[2, 1])
    assert found == [(0, [0, 1], (0, 0, 1)), (0, [0, 1], (0, 0, 1)), (1, [2], (0, 0, 1))]
    assert helpers.run(places, engine="virtual", ranks=2) == [(0, [0, 1], (0, 0))] * 2
