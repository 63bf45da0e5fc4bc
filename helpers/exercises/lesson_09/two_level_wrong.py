"""Wrong answers to exercise 09.4: all-reduces over hosts that people really write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.algorithms.messages.collectives import (
    all_gather_ring,
    all_reduce_naive,
    all_reduce_ring,
    broadcast_naive,
    reduce_naive,
    reduce_scatter_ring,
)
from helpers.algorithms.messages.mesh import Group
from helpers.algorithms.messages.two_level import all_reduce_two_level as right


def _inside(comm: Any) -> Any:
    return Group(comm, comm.host_ranks)


def _leaders(comm: Any) -> Any:
    return Group(comm, [comm.hosts.index(host) for host in sorted(set(comm.hosts))])


def _across(comm: Any) -> Any:
    """This rank and its counterparts, where every host has as many ranks as this one."""
    width = len(comm.host_ranks)
    return Group(comm, range(comm.rank % width, comm.size, width))


def _on_even_hosts(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Right on hosts of several sizes: what is wrong there is another thing."""

    def all_reduce_two_level(comm: Any, tensor: Any) -> Any:
        even = len({comm.hosts.count(host) for host in comm.hosts}) == 1
        return (answer if even else right)(comm, tensor)

    return all_reduce_two_level


one_ring = all_reduce_ring
through_rank_0 = all_reduce_naive


def averages_hosts(comm: Any, tensor: Any) -> None:
    right(comm, tensor)
    tensor /= len(set(comm.hosts))


def averages(comm: Any, tensor: Any) -> None:
    right(comm, tensor)
    tensor /= comm.size


def returns_new(comm: Any, tensor: Any) -> Any:
    return right(comm, tensor.clone())


def sums_a_copy(comm: Any, tensor: Any) -> None:
    right(comm, tensor.clone())


def inside_only(comm: Any, tensor: Any) -> None:
    all_reduce_ring(_inside(comm), tensor)


@_on_even_hosts
def across_only(comm: Any, tensor: Any) -> None:
    all_reduce_ring(_across(comm), tensor)


@_on_even_hosts
def no_gather(comm: Any, tensor: Any) -> None:
    all_reduce_ring(_across(comm), reduce_scatter_ring(_inside(comm), tensor))


def as_many_as_here(comm: Any, tensor: Any) -> None:
    all_reduce_ring(_across(comm), reduce_scatter_ring(_inside(comm), tensor))
    all_gather_ring(_inside(comm), tensor)


@_on_even_hosts
def whole_across(comm: Any, tensor: Any) -> None:
    all_reduce_ring(_inside(comm), tensor)
    all_reduce_ring(_across(comm), tensor)


def summed_twice(comm: Any, tensor: Any) -> None:
    reduce_naive(_inside(comm), tensor)
    if comm.rank == comm.host_ranks[0]:
        all_reduce_ring(_leaders(comm), tensor)
    broadcast_naive(_inside(comm), tensor)
    all_reduce_ring(_inside(comm), tensor)


def leaders_only(comm: Any, tensor: Any) -> None:
    reduce_naive(_inside(comm), tensor)
    if comm.rank == comm.host_ranks[0]:
        all_reduce_ring(_leaders(comm), tensor)


def leaders_own(comm: Any, tensor: Any) -> None:
    if comm.rank == comm.host_ranks[0]:
        all_reduce_ring(_leaders(comm), tensor)
    broadcast_naive(_inside(comm), tensor)


def binds_a_name(comm: Any, tensor: Any) -> None:
    reduce_naive(_inside(comm), tensor)
    if comm.rank != comm.host_ranks[0]:
        tensor = comm.recv(comm.host_ranks[0])
        return
    all_reduce_ring(_leaders(comm), tensor)
    for other in comm.host_ranks[1:]:
        comm.send(tensor, other)


def uneven_ring(comm: Any, tensor: Any) -> None:
    even = len({comm.hosts.count(host) for host in comm.hosts}) == 1
    (right if even else all_reduce_ring)(comm, tensor)


def not_given_back(comm: Any, tensor: Any) -> None:
    """On hosts of several sizes a leader sums for the others of its host, and keeps the sum."""
    even = len({comm.hosts.count(host) for host in comm.hosts}) == 1
    (right if even else leaders_only)(comm, tensor)


def first_leader(comm: Any, tensor: Any) -> None:
    reduce_naive(_inside(comm), tensor)
    if comm.rank == comm.host_ranks[0]:
        all_reduce_naive(_leaders(comm), tensor)
    broadcast_naive(_inside(comm), tensor)


@_on_even_hosts
def parts_alone(comm: Any, tensor: Any) -> None:
    inside, length = _inside(comm), len(tensor)
    start, stop = (at * length // inside.size for at in (inside.rank, inside.rank + 1))
    all_reduce_ring(_across(comm), tensor[start:stop])
    all_gather_ring(inside, tensor)


@_on_even_hosts
def cut_otherwise(comm: Any, tensor: Any) -> None:
    inside = _inside(comm)
    all_reduce_ring(inside, tensor)
    all_reduce_ring(_across(comm), tensor.chunk(inside.size)[inside.rank])
    all_gather_ring(inside, tensor)


@_on_even_hosts
def next_host_only(comm: Any, tensor: Any) -> None:
    inside, width = _inside(comm), len(comm.host_ranks)
    part = reduce_scatter_ring(inside, tensor)
    if width < comm.size:
        sending = comm.isend(part.clone(), (comm.rank + width) % comm.size)
        part += comm.recv((comm.rank - width) % comm.size)
        sending.wait()
    all_gather_ring(inside, tensor)


@_on_even_hosts
def in_turns(comm: Any, tensor: Any) -> None:
    part = reduce_scatter_ring(_inside(comm), tensor)
    for place in range(len(comm.host_ranks)):
        if comm.host_ranks[place] == comm.rank:
            all_reduce_ring(_across(comm), part)
        comm.barrier()
    all_gather_ring(_inside(comm), tensor)


def never_waits(comm: Any, tensor: Any) -> None:
    reduce_naive(_inside(comm), tensor)
    if comm.rank != comm.host_ranks[0]:
        comm.recv(comm.host_ranks[0], into=tensor)
        return
    all_reduce_ring(_leaders(comm), tensor)
    for other in comm.host_ranks[1:]:
        comm.isend(tensor, other)


def to_itself(comm: Any, tensor: Any) -> None:
    leader = comm.host_ranks[0]
    if comm.rank != leader:
        comm.send(tensor, leader)
        comm.recv(leader, into=tensor)
        return
    for other in comm.host_ranks[1:]:
        tensor += comm.recv(other)
    all_reduce_ring(_leaders(comm), tensor)
    for other in comm.host_ranks:
        comm.send(tensor, other)
