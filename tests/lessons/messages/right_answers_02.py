"""Right answers to lesson 02 that differ from the references: when they wait, what they keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def ring_that_waits_at_the_end(comm: Any, tensor: Any) -> None:
    """Starts a send in each step, and waits for all of them behind the last one."""
    length, size, me = len(tensor), comm.size, comm.rank
    parts = [tensor[c * length // size : (c + 1) * length // size] for c in range(size)]
    sending = []
    for step in range(1, size):
        sending.append(comm.isend(parts[(me - step) % size], (me + 1) % size))
        parts[(me - step - 1) % size].add_(comm.recv((me - 1) % size))
    for step in range(size - 1):
        sending.append(comm.isend(parts[(me - step) % size], (me + 1) % size))
        parts[(me - step - 1) % size].copy_(comm.recv((me - 1) % size))
    for request in sending:
        request.wait()


def ring_that_receives_into_place(comm: Any, tensor: Any) -> None:
    """The second half writes what comes straight into its place."""
    length, size, me = len(tensor), comm.size, comm.rank
    right, left = (me + 1) % size, (me - 1) % size
    parts = [tensor[c * length // size : (c + 1) * length // size] for c in range(size)]
    for step in range(2 * (size - 1)):
        request = comm.isend(parts[(me - step) % size], right)
        part = parts[(me - step - 1) % size]
        if step < size - 1:
            part += comm.recv(left)
        else:
            comm.recv(left, into=part)
        request.wait()


def shared_in_the_first_buffer(comm: Any, buffers: Any) -> None:
    """Sums in rank 0's buffer; each rank then copies the whole of it into its own."""
    length = len(buffers[0])
    mine = slice(comm.rank * length // comm.size, (comm.rank + 1) * length // comm.size)
    comm.barrier()
    for other in buffers[1:]:
        buffers[0][mine] += other[mine]
    comm.barrier()
    if comm.rank:
        buffers[comm.rank].copy_(buffers[0])
    comm.barrier()


def broadcast_by_generations(comm: Any, tensor: Any, root: int) -> None:
    """The binomial tree, told by the ranks that have the tensor: twice as many each round."""
    place, have, sending = (comm.rank - root) % comm.size, 1, []
    while have < comm.size:
        if place < have and place + have < comm.size:
            sending.append(comm.isend(tensor, (place + have + root) % comm.size))
        elif have <= place < 2 * have:
            tensor.copy_(torch.as_tensor(comm.recv((place - have + root) % comm.size)))
        have *= 2
    for request in sending:
        request.wait()


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("02.2", broadcast_by_generations),
    ("02.3", ring_that_waits_at_the_end),
    ("02.3", ring_that_receives_into_place),
    ("02.5", shared_in_the_first_buffer),
]
