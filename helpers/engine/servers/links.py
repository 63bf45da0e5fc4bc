"""How messages get from workers to servers and back on the clock, and what they wait for.

`ServerLinks` is the plain network: each server has a link, and nothing else takes time. With
`HostLinks` workers have links, too: each server and each worker is on a host of its own, with a
link in each direction. Whatever a message goes through takes one message after the other, in the
order in which they come to it, for bytes/bandwidth each; a message does not wait to be whole before
it goes on, so it arrives when the last of its links has let it through, and the latency once. That
is the α–β model of `helpers.engine.virtual_links`, without its sender that waits for the receiver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from helpers.engine.hosts.network import Bandwidth, bytes_a_second
from helpers.engine.servers.clock import Clock, Link

OTHERS = "others"  # in a bandwidth by host: every host that it does not name

Act = Callable[..., None]
Bandwidths = Bandwidth | Mapping[str, Bandwidth]


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
    hosts: bool = False,
) -> Links:
    """The links that the options of `helpers.train` ask for; only servers' if nothing more."""
    if hosts or isinstance(bandwidth, Mapping):
        return HostLinks(clock, rates(bandwidth, servers, workers), servers, latency)
    if isinstance(bandwidth, str) or bandwidth is None:
        bandwidth = rate(bandwidth, "bandwidth")
    return ServerLinks(clock, servers, latency, bandwidth)


def rates(bandwidth: Bandwidths, servers: int, workers: int) -> tuple[float, ...]:
    """Bytes a second of each host's link, those of the servers first.

    bandwidth: of all, or by name ("server 0", "worker 3"), with "others" for the rest; those not in
    it are as quick as can be. Raises TypeError or ValueError, with a sentence, for what cannot be.
    """
    names = [f"server {n}" for n in range(servers)] + [f"worker {n}" for n in range(workers)]
    if not isinstance(bandwidth, Mapping):
        return (rate(bandwidth, "bandwidth"),) * len(names)
    for name in bandwidth:
        if name not in names and name != OTHERS:
            raise ValueError(
                f"bandwidth names {name!r}, and no host is called so: there are {names[0]!r} to "
                f"{names[-1]!r}, and {OTHERS!r} for the rest."
            )
    rest = bandwidth.get(OTHERS)
    return tuple(rate(bandwidth.get(name, rest), f"bandwidth of {name}") for name in names)


def rate(value: Bandwidth, name: str) -> float:
    """Bytes a second, infinite for None. Raises ValueError or TypeError, which says the name."""
    try:
        found = bytes_a_second(value)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("bandwidth", name, 1)) from None
    return math.inf if found is None else found


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
    """A link in each direction for each server and each worker. bandwidth: the servers' first."""

    def __init__(
        self, clock: Clock, bandwidth: Sequence[float], servers: int, latency: float
    ) -> None:
        if not latency >= 0:
            raise ValueError(f"A link has a latency of 0 s or more, not {latency} s.")
        self._clock, self._bandwidth, self._latency = clock, bandwidth, latency
        self._servers = servers
        self._out_free, self._in_free = [0.0] * len(bandwidth), [0.0] * len(bandwidth)
        self._to, self._from = [0.0] * servers, [0.0] * servers

    def to_server(self, worker: int, server: int, size: float, act: Act, *args: Any) -> None:
        """From a worker's host to a server's."""
        self._to[server] += size
        self._carry(self._servers + worker, server, size, act, args)

    def to_worker(self, server: int, worker: int, size: float, act: Act, *args: Any) -> None:
        """From a server's host to a worker's."""
        self._from[server] += size
        self._carry(server, self._servers + worker, size, act, args)

    def carried(self, server: int) -> tuple[int, int]:
        """Bytes to a server and from it so far."""
        return round(self._to[server]), round(self._from[server])

    def _carry(self, here: int, there: int, size: float, act: Act, args: tuple[Any, ...]) -> None:
        """Begin a message now."""
        start = max(self._clock.now, self._out_free[here])
        self._out_free[here] = left = start + size / self._bandwidth[here]
        if start > self._clock.now:
            self._clock.at(start, self._into, there, size, left, act, args)
        else:  # an event costs more than a call
            self._into(there, size, left, act, args)

    def _into(self, there: int, size: float, ends: float, act: Act, args: tuple[Any, ...]) -> None:
        """A message's head has come to the link of the host that it is for. ends: its tail."""
        start = max(self._clock.now, self._in_free[there])
        self._in_free[there] = start + size / self._bandwidth[there]
        self._clock.at(max(ends, self._in_free[there]) + self._latency, act, *args)
