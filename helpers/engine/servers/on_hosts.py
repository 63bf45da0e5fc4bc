"""Servers and workers as real processes on virtual hosts, or what the clock needs instead."""

from __future__ import annotations

import math
from typing import Any

from helpers.engine.errors import NoHosts
from helpers.engine.hosts.namespaces import refused
from helpers.engine.hosts.network import MAX_HOSTS, Bandwidth, Network
from helpers.engine.servers.places import Bandwidths, Hosts, place
from helpers.engine.servers.real import train_processes
from helpers.engine.servers.training import Training


def train_on_hosts(
    *args: Any,
    workers: int,
    servers: int,
    hosts: Hosts | None = None,
    bandwidth: Bandwidths = None,
    **options: Any,
) -> Training:
    """Train as `train_processes` does, with its arguments and options, over the hosts' links.

    hosts, bandwidth: who is where, and how quick each host's link is; see `places.place`.
    Raises NoHosts where this machine gives none.
    """
    switch: Bandwidth = None
    places = place(hosts or {}, bandwidth, switch, servers, workers)
    assert places is not None
    if len(places.bandwidth) > MAX_HOSTS:
        raise ValueError(f"{len(places.bandwidth)} hosts are too many: there are {MAX_HOSTS}.")
    if why := refused():
        raise NoHosts(f"Virtual hosts cannot be had here: {why}.")
    links = tuple(None if link == math.inf else link for link in places.bandwidth)
    where: dict[str, Any] = {"network": Network((0,), links), "places": places}
    return train_processes(*args, **{"workers": workers, "servers": servers, **where, **options})
