"""Which rank is on which host, and how quick each host's link is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from numbers import Real
from typing import NamedTuple, cast

_UNITS = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_RATE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([kmg]?bit)(?:/s)?\s*", re.IGNORECASE)
MAX_HOSTS = 64
INTERFACE = "eth0"

Bandwidth = str | float | None


class Network(NamedTuple):
    """The hosts of one run.

    hosts: the host of each rank, by rank. bandwidth: of each host's link, in bytes a second and
    in each of its two directions; None for a link that is as quick as the machine makes it.
    """

    hosts: tuple[int, ...]
    bandwidth: tuple[float | None, ...]

    def address(self, rank: int) -> str:
        """The address of a rank's host inside the namespaces."""
        return address(self.hosts[rank])


def address(host: int) -> str:
    """A host's address inside the namespaces."""
    return f"10.0.0.{host + 1}"


def network(
    ranks: int | None = None,
    hosts: int | None = None,
    ranks_per_host: int | Sequence[int] | None = None,
    bandwidth: Bandwidth | Sequence[Bandwidth] = None,
) -> Network:
    """The network that `helpers.run(engine="hosts", ...)` asks for; ranks fill host after host.

    What is not given follows from the rest: one rank a host, and 4 hosts. ranks_per_host: one
    number, or a list with one a host. bandwidth: one for all links or a list with one a host, each
    as in `bytes_a_second`. Raises TypeError or ValueError for what cannot be.
    """
    numbers = _each_hosts_ranks(ranks, hosts, ranks_per_host)
    if not 1 <= len(numbers) <= MAX_HOSTS:
        raise ValueError(f"{len(numbers)} hosts are not possible: there are 1 to {MAX_HOSTS}.")
    if min(numbers) < 1:
        raise ValueError(f"ranks_per_host={ranks_per_host}: each host has 1 rank or more.")
    if isinstance(bandwidth, list | tuple):
        links: list[Bandwidth] = list(bandwidth)
    else:
        links = [cast(Bandwidth, bandwidth)] * len(numbers)
    if len(links) != len(numbers):
        raise ValueError(f"bandwidth has {len(links)} values for {len(numbers)} hosts: one a host.")
    placed = tuple(host for host, number in enumerate(numbers) for _ in range(number))
    return Network(placed, tuple(map(bytes_a_second, links)))


def _each_hosts_ranks(
    ranks: int | None, hosts: int | None, ranks_per_host: int | Sequence[int] | None
) -> list[int]:
    """How many ranks each host has."""
    total = None if ranks is None else _whole("ranks", ranks)
    count = None if hosts is None else _whole("hosts", hosts)
    if isinstance(ranks_per_host, list | tuple):
        numbers = [_whole("ranks_per_host", number) for number in ranks_per_host]
    else:
        each = max(total // count, 1) if total and count else 1
        each = each if ranks_per_host is None else _whole("ranks_per_host", ranks_per_host)
        if count is None:
            count = 4 if total is None else total // max(each, 1)
        numbers = [each] * count
    if count is not None and len(numbers) != count:
        raise ValueError(f"ranks_per_host has {len(numbers)} numbers for {count} hosts.")
    if total is not None and sum(numbers) != total:
        raise ValueError(
            f"ranks={total} does not fit {len(numbers)} hosts with "
            f"{', '.join(map(str, dict.fromkeys(numbers)))} ranks: give ranks_per_host= as a list "
            "with one number a host."
        )
    return numbers


def bytes_a_second(bandwidth: Bandwidth) -> float | None:
    """A link's bandwidth: "200mbit" counts bits, a number bytes; None is left alone.

    Words are those of `tc`: bit, kbit, mbit and gbit a second, in powers of ten.
    Raises TypeError or ValueError for what is no bandwidth.
    """
    if bandwidth is None:
        return None
    if isinstance(bandwidth, str):
        match = _RATE.fullmatch(bandwidth)
        if match is None:
            raise ValueError(
                f"bandwidth={bandwidth!r} is not understood: write bits a second such as "
                '"200mbit" or "1.5gbit", or a number of bytes a second.'
            )
        value = float(match[1]) * _UNITS[match[2].lower()] / 8
    elif isinstance(bandwidth, Real) and not isinstance(bandwidth, bool):
        value = float(bandwidth)
    else:
        raise TypeError(f'bandwidth is "200mbit", bytes a second or None, not {bandwidth!r}.')
    if math.isinf(value) and value > 0:
        return None
    if not value > 0:
        raise ValueError(
            f'bandwidth={bandwidth} is not possible: give bytes a second above 0, or "200mbit".'
        )
    return value


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not {value!r}.")
    return int(value.__index__())
