"""The reference of exercise 02.2, and broadcasts that people really write."""

from __future__ import annotations

from typing import Any


def reference(comm: Any, tensor: Any, root: int) -> None:
    """The course's own."""
    from helpers.algorithms.messages.collectives import broadcast_tree

    broadcast_tree(comm, tensor, root)


def naive(comm: Any, tensor: Any, root: int) -> None:
    """The root sends to everybody."""
    if comm.rank != root:
        comm.recv(root, into=tensor)
        return
    for other in range(comm.size):
        if other != root:
            comm.send(tensor, other)


def chain(comm: Any, tensor: Any, root: int) -> None:
    """Hand to hand along a chain."""
    place = (comm.rank - root) % comm.size
    if place > 0:
        comm.recv((comm.rank - 1) % comm.size, into=tensor)
    if place < comm.size - 1:
        comm.send(tensor, (comm.rank + 1) % comm.size)


def from_rank_0(comm: Any, tensor: Any, root: int) -> None:
    """A tree from rank 0, whatever the root."""
    have = 1
    while have < comm.size:
        if comm.rank < have and comm.rank + have < comm.size:
            comm.send(tensor, comm.rank + have)
        elif have <= comm.rank < 2 * have:
            comm.recv(comm.rank - have, into=tensor)
        have *= 2


def returns_new(comm: Any, tensor: Any, root: int) -> Any:
    """Returns a new tensor."""
    place, have = (comm.rank - root) % comm.size, 1
    while have < comm.size:
        if place < have and place + have < comm.size:
            comm.send(tensor, (comm.rank + have) % comm.size)
        elif have <= place < 2 * have:
            tensor = comm.recv((comm.rank - have) % comm.size)
        have *= 2
    return tensor


def rebinds(comm: Any, tensor: Any, root: int) -> None:
    """Receives into a new name, and returns nothing."""
    returns_new(comm, tensor, root)


def no_bound(comm: Any, tensor: Any, root: int, wraps: bool = False) -> None:
    """Right for powers of two only: asks for ranks that do not exist."""
    place, have, n = (comm.rank - root) % comm.size, 1, comm.size
    while have < n:
        if place < have:
            other = place + have
            comm.send(tensor, (other + root) % n if wraps or other < n else other)
        elif place < 2 * have:
            comm.recv((comm.rank - have) % n, into=tensor)
        have *= 2


def wraps_round(comm: Any, tensor: Any, root: int) -> None:
    """The same with every target taken modulo N: places beyond the last wrap round."""
    no_bound(comm, tensor, root, wraps=True)


def wrong_partner(comm: Any, tensor: Any, root: int) -> None:
    """Everybody waits for the parent in another tree (place // 2): a deadlock."""
    place, have = (comm.rank - root) % comm.size, 1
    if place:
        comm.recv((place // 2 + root) % comm.size, into=tensor)
    while have < comm.size:
        if place < have and place + have < comm.size:
            comm.send(tensor, (comm.rank + have) % comm.size)
        have *= 2


def places_for_ranks(comm: Any, tensor: Any, root: int) -> None:
    """Counts places from the root, and sends to the places."""
    place, have = (comm.rank - root) % comm.size, 1
    while have < comm.size:
        if place < have and place + have < comm.size:
            comm.send(tensor, place + have)
        elif have <= place < 2 * have:
            comm.recv(place - have, into=tensor)
        have *= 2
