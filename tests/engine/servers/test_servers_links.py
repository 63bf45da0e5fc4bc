"""What messages wait for on the clock: hosts' links, a server that adds up. By hand."""

from __future__ import annotations

import helpers
from helpers.engine.servers.clock import Clock
from helpers.engine.servers.links import make_links
from tests.engine.servers.test_servers_virtual import Bowl, Listed, Scattered, async_rule

BYTES = 48.0  # of Bowl's weights, so that a link of 48 bytes a second carries them in a second


def seconds(**options) -> float:
    """Until the one worker has made an update, for which it computes for a second."""
    times = Listed([1.0])
    return helpers.train(
        async_rule(1), workers=1, task=Bowl(), updates=1, times=times, **options
    ).seconds


def test_a_workers_link_counts_in_bits_or_in_bytes():
    # Both links are in use at once: a second there, a second of computing, a second back. A worker
    # whose link is half as quick takes two seconds each way.
    assert seconds(hosts=True, bandwidth=BYTES) == 3.0
    assert seconds(bandwidth={"worker 0": "192bit", "others": BYTES}) == 5.0
    assert seconds(bandwidth={"server 0": BYTES / 2}) == 5.0
    # Latency counts once a message.
    assert seconds(hosts=True, bandwidth=BYTES, latency=0.25) == 3.5


def test_who_waits_for_one_link_holds_up_nobody_on_another():
    # Server 0 has a queue for worker 0, whose link is slow; worker 1's weights pass it.
    clock, came = Clock(), []
    links = make_links(clock, 1, 2, 0.0, {"worker 0": 1.0, "server 0": 10.0})
    for size, worker in ((10.0, 0), (10.0, 0), (10.0, 1)):
        links.to_worker(0, worker, size, lambda w=worker: came.append((w, clock.now)))
    while clock.step():
        pass
    assert came == [(1, 3.0), (0, 10.0), (0, 20.0)]


def test_bytes_are_counted_on_every_kind_of_link():
    plain, hosts = (
        helpers.train(
            async_rule(2), workers=2, task=Bowl(), servers=2, updates=6, times=Scattered(), **more
        )
        for more in ({"bandwidth": 1e3}, {"bandwidth": 1e3, "hosts": True})
    )
    for one, other in zip(plain.servers, hosts.servers, strict=True):
        assert (one.bytes_in, one.bytes_out) == (other.bytes_in, other.bytes_out)
