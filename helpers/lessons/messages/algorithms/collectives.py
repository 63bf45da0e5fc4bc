"""Broadcast, reduce and all-reduce, built from messages alone.

Every function takes `(comm, tensor)`, is called by all ranks with tensors of one shape and type,
works in place and returns the tensor. Write N for the number of ranks and n for a tensor's bytes.

In the naive, tree, ring, halving-doubling and shared-memory all-reduce, each element is summed in
one place and then copied, so all ranks end with the same bits. The order of the additions differs
from one algorithm to the next, so two algorithms agree only to rounding.

Sources: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
MPICH" (2005), sections 3 and 4; Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for
clusters of workstations" (2009), for the ring.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from helpers.engine.comm import Comm

BLOCK_BYTES = 256 * 1024
"""Bytes that `all_reduce_shared` sums at a time, so that a block stays in the cache."""


def chunk_bounds(length: int, parts: int) -> list[tuple[int, int]]:
    """Cut `length` elements into `parts` chunks that differ by one element at most.

    Chunk r is ⌊r·length/parts⌋ to ⌊(r+1)·length/parts⌋: nothing is padded, lost or doubled.
    Example: chunk_bounds(5, 2) is [(0, 2), (2, 5)].
    Raises ValueError where there is no such cut.
    """
    if length < 0 or parts < 1:
        raise ValueError(f"{length} elements cannot be cut into {parts} chunks.")
    return [(r * length // parts, (r + 1) * length // parts) for r in range(parts)]


def flat_view(tensor: Tensor) -> Tensor:
    """A tensor's elements in a row, in the same memory, outside autograd.

    Raises ValueError where they do not lie in a row.
    """
    if not tensor.is_contiguous():
        raise ValueError(
            "The tensor's elements do not lie in one row of memory, so it cannot be reduced in "
            "place: pass tensor.contiguous() and copy the result back."
        )
    return tensor.detach().view(-1)


# --- from one rank to all -------------------------------------------------------------------------


def broadcast_naive(comm: Comm, tensor: Tensor, root: int = 0) -> Tensor:
    """Copy rank `root`'s tensor to every rank: the root sends it to each in turn.

    Takes (N − 1)(α + nβ) seconds, and the root sends (N − 1) n bytes.
    """
    comm.peer(root, "broadcasts from")
    flat = flat_view(tensor)
    if comm.rank != root:
        comm.recv(root, into=flat)
        return tensor
    for other in range(comm.size):
        if other != root:
            comm.send(flat, other)
    return tensor


def broadcast_tree(comm: Comm, tensor: Tensor, root: int = 0) -> Tensor:
    """Copy rank `root`'s tensor to every rank along a binomial tree.

    In each round, every rank that has the tensor sends it to one that has not, so the number of
    ranks that have it doubles. Takes ⌈log₂ N⌉ (α + nβ) seconds.
    """
    comm.peer(root, "broadcasts from")
    flat = flat_view(tensor)
    place = (comm.rank - root) % comm.size  # counted from the root, which has place 0
    have = 1
    while have < comm.size:
        if place < have and place + have < comm.size:
            comm.send(flat, (comm.rank + have) % comm.size)
        elif have <= place < 2 * have:
            comm.recv((comm.rank - have) % comm.size, into=flat)
        have *= 2
    return tensor


# --- from all ranks to one ------------------------------------------------------------------------


def reduce_naive(comm: Comm, tensor: Tensor, root: int = 0) -> Tensor:
    """Sum every rank's tensor into rank `root`'s: everybody sends to the root.

    The other ranks' tensors stay as they are. Takes α + (N − 1) nβ seconds: the senders do not
    wait for each other, but the root's link takes in one message after the other.
    """
    comm.peer(root, "reduces to")
    flat = flat_view(tensor)
    if comm.rank != root:
        comm.send(flat, root)
        return tensor
    scratch = torch.empty_like(flat)
    for other in range(comm.size):
        if other != root:
            flat += comm.recv(other, into=scratch)
    return tensor


def reduce_tree(comm: Comm, tensor: Tensor, root: int = 0) -> Tensor:
    """Sum every rank's tensor into rank `root`'s along a binomial tree.

    It is `broadcast_tree` run backwards, with an addition at each meeting. The other ranks'
    tensors are left with sums of a part of the ranks. Takes ⌈log₂ N⌉ (α + nβ) seconds for N a
    power of two, and at most that otherwise.
    """
    comm.peer(root, "reduces to")
    flat = flat_view(tensor)
    place = (comm.rank - root) % comm.size
    have = 1
    while 2 * have < comm.size:
        have *= 2
    scratch = torch.empty_like(flat) if place < have else flat
    while have >= 1:
        if place < have and place + have < comm.size:
            flat += comm.recv((comm.rank + have) % comm.size, into=scratch)
        elif have <= place < 2 * have:
            comm.send(flat, (comm.rank - have) % comm.size)
        have //= 2
    return tensor


# --- from all ranks to all ------------------------------------------------------------------------


def all_reduce_naive(comm: Comm, tensor: Tensor) -> Tensor:
    """Sum every rank's tensor on every rank: rank 0 gathers the sum, then sends it to each.

    Rank 0 sends (N − 1) n bytes and receives as many; its link does all the work.
    """
    return broadcast_naive(comm, reduce_naive(comm, tensor))


def all_reduce_tree(
    comm: Comm, tensor: Tensor, broadcast: Callable[[Comm, Tensor, int], Any] = broadcast_tree
) -> Tensor:
    """Sum every rank's tensor on every rank: up a binomial tree, and down again.

    broadcast: a function of (comm, tensor, root) for the way down, in place.
    Takes 2 ⌈log₂ N⌉ (α + nβ) seconds at most: few messages, but whole tensors.
    """
    broadcast(comm, reduce_tree(comm, tensor), 0)
    return tensor


def reduce_scatter_ring(comm: Comm, tensor: Tensor) -> Tensor:
    """Sum every rank's tensor, and leave rank r with chunk r of the sum.

    The tensor is cut by `chunk_bounds`. In each of N − 1 steps every rank sends one chunk to its
    right and adds the one that comes from its left, so a partial sum of each chunk travels round
    the ring and is complete when it reaches its owner. Returns that chunk, a view of the tensor;
    the tensor's other chunks hold partial sums.
    """
    flat = flat_view(tensor)
    chunks = [flat[start:stop] for start, stop in chunk_bounds(len(flat), comm.size)]
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    scratch = flat.new_empty(max(map(len, chunks)) if comm.size > 1 else 0)
    for step in range(1, comm.size):
        sending = comm.isend(chunks[(comm.rank - step) % comm.size], right)
        chunk = chunks[(comm.rank - step - 1) % comm.size]
        chunk += comm.recv(left, into=scratch[: len(chunk)])
        sending.wait()
    return chunks[comm.rank]


def all_gather_ring(comm: Comm, tensor: Tensor) -> Tensor:
    """Copy chunk r of rank r's tensor to every rank, for all r: the second half of the ring.

    In each of N − 1 steps every rank passes on to its right the chunk that it got last.
    """
    flat = flat_view(tensor)
    chunks = [flat[start:stop] for start, stop in chunk_bounds(len(flat), comm.size)]
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for step in range(comm.size - 1):
        sending = comm.isend(chunks[(comm.rank - step) % comm.size], right)
        comm.recv(left, into=chunks[(comm.rank - step - 1) % comm.size])
        sending.wait()
    return tensor


def all_reduce_ring(comm: Comm, tensor: Tensor) -> Tensor:
    """Sum every rank's tensor on every rank, chunk by chunk round a ring.

    Each rank sends 2(N − 1) messages. Where N divides the length, it sends exactly 2(N − 1)/N of
    the tensor, which is the least that any all-reduce can do; otherwise rank r sends everything
    twice but for chunk r and chunk r + 1 (`ring_bytes`), and nothing is padded.
    Takes 2(N − 1)(α + nβ/N) seconds.
    """
    reduce_scatter_ring(comm, tensor)
    return all_gather_ring(comm, tensor)


def ring_bytes(length: int, size: int, rank: int, itemsize: int = 4) -> int:
    """Bytes that one rank sends in `all_reduce_ring`: every chunk twice, but for two chunks.

    length: elements of the tensor. itemsize: bytes of one.
    Example: ring_bytes(8, 4, rank=0) is 48: 2·3/4 of 32 bytes.
    """
    sizes = [stop - start for start, stop in chunk_bounds(length, size)]
    return (2 * length - sizes[rank] - sizes[(rank + 1) % size]) * itemsize


def all_reduce_halving_doubling(comm: Comm, tensor: Tensor) -> Tensor:
    """Sum every rank's tensor on every rank in 2 log₂ N rounds, with as few bytes as the ring.

    Partners exchange halves of what they still work on: half the tensor with the rank N/2 away,
    then a quarter with the one N/4 away, until each rank owns one fully summed piece. The same
    way back puts the pieces together. Where N is no power of two, let P be the largest power of
    two below: rank P + r first adds its tensor to rank r's, and gets the sum from it at the end.
    Takes 2 log₂ P α + 2 (P − 1)/P nβ seconds, and 2 (α + nβ) more where N is not P.
    """
    flat = flat_view(tensor)
    power = 1 << (comm.size.bit_length() - 1)
    if comm.rank >= power:
        comm.send(flat, comm.rank - power)
        comm.recv(comm.rank - power, into=flat)
        return tensor
    folded = comm.rank + power < comm.size
    scratch = flat.new_empty(len(flat) if folded else (len(flat) + 1) // 2)
    if folded:
        flat += comm.recv(comm.rank + power, into=scratch)

    start, stop = 0, len(flat)
    way: list[tuple[int, Tensor, Tensor]] = []  # partner, what I kept, what I gave away
    distance = power // 2
    while distance:
        partner, middle = comm.rank ^ distance, (start + stop) // 2
        lower, upper = flat[start:middle], flat[middle:stop]
        if comm.rank < partner:
            kept, given, stop = lower, upper, middle
        else:
            kept, given, start = upper, lower, middle
        sending = comm.isend(given, partner)
        kept += comm.recv(partner, into=scratch[: len(kept)])
        sending.wait()
        way.append((partner, kept, given))
        distance //= 2
    for partner, kept, given in reversed(way):
        sending = comm.isend(kept, partner)
        comm.recv(partner, into=given)
        sending.wait()

    if folded:
        comm.send(flat, comm.rank + power)
    return tensor


def all_reduce_shared(comm: Comm, buffers: list[Tensor]) -> Tensor:
    """Sum buffers that lie in shared memory, in place, without a message.

    buffers: one a rank, as `comm.shared` gives them; rank r has filled buffers[r]. Each rank sums
    its own slice over all buffers and writes it to all of them. The first barrier says that every
    buffer is filled, the second that every slice is written. A slice is worked through in blocks
    that stay in the cache, so each buffer is read from memory once and written once.
    Returns this rank's buffer.
    """
    if len(buffers) != comm.size:
        raise ValueError(f"There are {len(buffers)} buffers for {comm.size} ranks.")
    mine = buffers[comm.rank]
    start, stop = chunk_bounds(mine.numel(), comm.size)[comm.rank]
    block = max(1, BLOCK_BYTES // mine.element_size())
    slices = [flat_view(buffer)[start:stop].split(block) for buffer in buffers]
    comm.barrier()
    for total, *others in zip(*slices, strict=True):
        for other in others:
            total += other
        for other in others:
            other.copy_(total)
    comm.barrier()
    return mine
