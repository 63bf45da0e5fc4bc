"""Who is on which host, and how quick its link is: what `hosts=` and `bandwidth=` say.

Servers and workers are called "server 0", "worker 3"; whoever is not named is alone on a host that
is called as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from helpers.engine.hosts.network import Bandwidth, bytes_a_second

OTHERS = "others"  # in a bandwidth by host: every host that it does not name

Hosts = Mapping[str, str | Sequence[str]]
Bandwidths = Bandwidth | Mapping[str, Bandwidth]


class Places(NamedTuple):
    """servers, workers: the host of each, by number. bandwidth: of each host's link in each of its
    two directions, in bytes a second."""

    servers: tuple[int, ...]
    workers: tuple[int, ...]
    bandwidth: tuple[float, ...]


def rate(value: Bandwidth, name: str) -> float:
    """Bytes a second, infinite for None. Raises ValueError or TypeError, which says the name."""
    try:
        found = bytes_a_second(value)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("bandwidth", name, 1)) from None
    return math.inf if found is None else found


def place(hosts: Hosts | None, bandwidth: Bandwidths, servers: int, workers: int) -> Places | None:
    """The places of all, or None where nothing asks for hosts: then only servers have links.

    Raises TypeError or ValueError, with a sentence, for what cannot be.
    """
    if hosts is None and not isinstance(bandwidth, Mapping):
        return None
    names = [f"server {n}" for n in range(servers)] + [f"worker {n}" for n in range(workers)]
    of = _who_is_where(hosts or {}, names)
    every = list(dict.fromkeys(of[name] for name in names))
    number = {host: n for n, host in enumerate(every)}
    placed = tuple(number[of[name]] for name in names)
    links = _links(bandwidth, every)
    return Places(placed[:servers], placed[servers:], links)


def _who_is_where(hosts: Hosts, names: Sequence[str]) -> dict[str, str]:
    """The host of everybody, by name."""
    if not isinstance(hosts, Mapping):
        raise TypeError(
            "hosts is a mapping of a host's name to who is on it, such as "
            f'{{"left": ["server 0", "worker 0"]}}, not {hosts!r}.'
        )
    of = {name: name for name in names}
    placed: dict[str, str] = {}
    for host, there in hosts.items():
        if not isinstance(there, str | list | tuple | set):
            raise TypeError(f"hosts says who is on {host!r} by names in a list, not {there!r}.")
        for name in [there] if isinstance(there, str) else there:
            if name not in of:
                raise ValueError(
                    f"hosts puts {name!r} on {host!r}, and nobody is called so: there are "
                    f"{_ranges(names)}."
                )
            if name in placed:
                raise ValueError(
                    f"hosts puts {name!r} on {placed[name]!r} and on {host!r}; one host is enough."
                )
            placed[name] = host
    for host in hosts:
        if host in of and placed.get(host) != host:
            raise ValueError(
                f"A host cannot be called {host!r} unless {host} is on it; call it otherwise."
            )
    return {**of, **placed}


def _links(bandwidth: Bandwidths, hosts: Sequence[str]) -> tuple[float, ...]:
    """The bandwidth of each host's link, in the order of the hosts."""
    if not isinstance(bandwidth, Mapping):
        return (rate(bandwidth, "bandwidth"),) * len(hosts)
    for host in bandwidth:
        if host not in hosts and host != OTHERS:
            shown = ", ".join(map(repr, hosts[:4])) + (", …" if len(hosts) > 4 else "")
            raise ValueError(
                f"bandwidth names {host!r}, and no host is called so: there are {shown}, and "
                f"{OTHERS!r} for the rest."
            )
    rest = bandwidth.get(OTHERS)
    return tuple(rate(bandwidth.get(host, rest), f"bandwidth of {host}") for host in hosts)


def _ranges(names: Sequence[str]) -> str:
    """The first and last name of each kind, in words."""
    kinds = [[name for name in names if name.startswith(kind)] for kind in ("server", "worker")]
    return " and ".join(
        repr(kind[0]) if len(kind) == 1 else f"{kind[0]!r} to {kind[-1]!r}" for kind in kinds
    )
