"""How messages get from workers to servers and back on the clock, and what they wait for.

`ServerLinks` is the plain network: each server has a link, and nothing else takes time.
`HostLinks` has a link a host, for all who are on it, in each direction. Whatever a message goes
through takes one message after the other, in the order in which they come to it, for
bytes/bandwidth each; a message does not wait to be whole before it goes on, so it arrives when the
last of its links has let it through, and the latency once. That is the
α–β model of `helpers.engine.virtual_links`, without its sender that waits for the receiver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

from helpers.engine.hosts.network import Bandwidth
from helpers.engine.servers.clock import Clock, Link
from helpers.engine.servers.places import Bandwidths, Hosts, Places, place, rate
from helpers.engine.virtual_links import Hosts as RankHosts

Act = Callable[..., None]
MEMORY = RankHosts._field_defaults["memory"], RankHosts._field_defaults["memory_latency"]


class Links(Protocol):
    """Carries messages; each ends in a call of `act`."""

    def to_server(self, worker: int, server: int, size: float, act: Act, *args: Any) -> None:
        """Send `size` bytes off now; `act(*args)` follows when the server has them."""

    def to_worker(self, server: int, worker: int, size: float, act: Act, *args: Any) -> None:
        """The same the other way."""

    def carried(self, server: int) -> tuple[int, int]:
        """Bytes to a server and from it so far."""


def make_links(
    clock: Clock,
    servers: int,
    workers: int,
    latency: float,
    bandwidth: Bandwidths,
    hosts: Hosts | None = None,
) -> Links:
    """The links that the options of `helpers.train` ask for; only servers' if nothing more."""
    places = place(hosts, bandwidth, servers, workers)
    if places is not None:
        return HostLinks(clock, places, latency)
    if isinstance(bandwidth, str) or bandwidth is None:
        bandwidth = rate(cast(Bandwidth, bandwidth), "bandwidth")
    return ServerLinks(clock, servers, latency, cast(float, bandwidth))


class ServerLinks:
    """Only the servers have links."""

    def __init__(self, clock: Clock, servers: int, latency: float, bandwidth: float) -> None:
        self._clock = clock
        self._into = [Link(latency, bandwidth) for _ in range(servers)]
        self._out = [Link(latency, bandwidth) for _ in range(servers)]

    def to_server(self, worker: int, server: int, size: float, act: Act, *args: Any) -> None:
        """Through the server's link in."""
        self._clock.at(self._into[server].send(self._clock.now, size), act, *args)

    def to_worker(self, server: int, worker: int, size: float, act: Act, *args: Any) -> None:
        """Through the server's link out."""
        self._clock.at(self._out[server].send(self._clock.now, size), act, *args)

    def carried(self, server: int) -> tuple[int, int]:
        """Bytes to a server and from it so far."""
        return self._into[server].carried, self._out[server].carried


class HostLinks:
    """A link a host in each direction. Within a host messages go through memory, one after the
    other, as quickly as between ranks on a host of `helpers.run`."""

    def __init__(self, clock: Clock, places: Places, latency: float) -> None:
        if not latency >= 0:
            raise ValueError(f"A link has a latency of 0 s or more, not {latency} s.")
        self._clock, self._places, self._latency = clock, places, latency
        self._out_free = [0.0] * len(places.bandwidth)
        self._in_free = [0.0] * len(places.bandwidth)
        memory, memory_latency = MEMORY
        self._memory = [Link(memory_latency, memory) for _ in places.bandwidth]
        self._to = [0.0] * len(places.servers)
        self._from = [0.0] * len(places.servers)

    def to_server(self, worker: int, server: int, size: float, act: Act, *args: Any) -> None:
        """From a worker's host to a server's."""
        self._to[server] += size
        here, there = self._places.workers[worker], self._places.servers[server]
        self._carry(here, there, size, act, args)

    def to_worker(self, server: int, worker: int, size: float, act: Act, *args: Any) -> None:
        """From a server's host to a worker's."""
        self._from[server] += size
        here, there = self._places.servers[server], self._places.workers[worker]
        self._carry(here, there, size, act, args)

    def carried(self, server: int) -> tuple[int, int]:
        """Bytes to a server and from it so far."""
        return round(self._to[server]), round(self._from[server])

    def _carry(self, here: int, there: int, size: float, act: Act, args: tuple[Any, ...]) -> None:
        """Begin a message now."""
        now = self._clock.now
        if here == there:
            return self._clock.at(self._memory[here].send(now, size), act, *args)
        start = max(now, self._out_free[here])
        self._out_free[here] = left = start + size / self._places.bandwidth[here]
        if start > now:
            self._clock.at(start, self._into, there, size, left, act, args)
        else:  # an event costs more than a call
            self._into(there, size, left, act, args)
        return None

    def _into(self, there: int, size: float, ends: float, act: Act, args: tuple[Any, ...]) -> None:
        """A message's head has come to the link of the host that it is for. ends: its tail."""
        start = max(self._clock.now, self._in_free[there])
        self._in_free[there] = start + size / self._places.bandwidth[there]
        self._clock.at(max(ends, self._in_free[there]) + self._latency, act, *args)
