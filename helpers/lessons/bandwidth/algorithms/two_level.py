"""An all-reduce for ranks that share hosts: inside each host, between hosts, inside again.

Memory carries far more than a link, so each byte crosses a link as seldom as it can: as often as if
every host were one rank. Source: Goyal et al., "Accurate, Large Minibatch SGD" (2017), section 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helpers.lessons.bandwidth.algorithms.mesh import Group
from helpers.lessons.messages.algorithms.collectives import (
    all_gather_ring,
    all_reduce_ring,
    flat_view,
    reduce_scatter_ring,
)

if TYPE_CHECKING:
    from helpers.engine.comm import Comm

Tensor = Any


def all_reduce_two_level(comm: Comm, tensor: Tensor) -> Tensor:
    """Sum every rank's tensor on every rank; over a link goes what one rank a host would send.

    The ranks of a host reduce-scatter, so that each owns a part of the host's sum. The owners of
    one part, one on each host, sum it round a ring of their own. Then each host's ranks gather all
    parts. A rank that the other hosts have no counterpart for adds through a neighbour.
    Each link carries 2(H − 1)/H of the tensor each way, on H hosts.
    """
    flat = flat_view(tensor)
    beside, width = comm.host_ranks, min(Counter(comm.hosts).values())
    mine = beside.index(comm.rank)
    if mine >= width:
        comm.send(flat, beside[mine % width])
        comm.recv(beside[mine % width], into=flat)
        return tensor
    helped = beside[width + mine :: width]
    for other in helped:
        flat += comm.recv(other)
    inside = Group(comm, beside[:width])
    across = Group(comm, counterparts(comm.hosts, mine))
    part = reduce_scatter_ring(inside, flat)  # type: ignore[arg-type]
    all_reduce_ring(across, part)  # type: ignore[arg-type]
    all_gather_ring(inside, flat)  # type: ignore[arg-type]
    for request in [comm.isend(flat, other) for other in helped]:
        request.wait()
    return tensor


def counterparts(hosts: Sequence[int], place: int) -> list[int]:
    """The ranks that are number `place`, from 0, on their hosts; host by host.

    hosts: the host of each rank. Example: counterparts([0, 0, 1, 1], 1) is [1, 3].
    """
    found = []
    for host in sorted(set(hosts)):
        found.append([rank for rank, its in enumerate(hosts) if its == host][place])
    return found


def two_level_seconds(
    nbytes: float,
    hosts: int,
    ranks_per_host: int,
    latency: float,
    bandwidth: float,
    memory_latency: float = 0.0,
    memory_bandwidth: float = float("inf"),
) -> float:
    """Seconds of `all_reduce_two_level` by the α–β model.

    nbytes: of the tensor. latency, bandwidth: between hosts, in seconds and bytes a second of a
    host's link, which its ranks share. memory_latency, memory_bandwidth: of a rank, inside a host.
    The rings of a host's owners take turns on its link: either it never rests, or latency rules.
    """
    inside = 2 * (ranks_per_host - 1)
    steps, wire = 2 * (hosts - 1), nbytes / (ranks_per_host * hosts) / bandwidth
    busy = steps * ranks_per_host * wire + (latency if steps else 0.0)
    rings = steps * (latency + wire) + (ranks_per_host - 1) * wire if steps else 0.0
    memory = inside * (memory_latency + nbytes / ranks_per_host / memory_bandwidth)
    return memory + max(busy, rings)
