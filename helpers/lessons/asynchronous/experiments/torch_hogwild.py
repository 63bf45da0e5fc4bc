"""Hogwild: processes that write into the same weights without a lock, on torch.multiprocessing.

Source: Niu, Recht, Ré and Wright, "HOGWILD!: A Lock-Free Approach to Parallelizing Stochastic
Gradient Descent" (NIPS 2011), algorithm 1. `torch.multiprocessing` shares a model's memory with
`model.share_memory()` and sends a handle to it where a tensor is pickled; here the ranks of
`helpers.run` are the processes, so that one that fails is named and none is left behind.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from helpers.engine.comm import Comm
    from helpers.engine.servers.task import Task


class Wild(NamedTuple):
    """What a rank knows when all are done: its own seconds and updates, and everybody's weights."""

    seconds: float
    updates: int
    weights: Tensor


def shared(comm: Comm, tensor: Tensor) -> Tensor:
    """Rank 0's tensor, on every rank of this machine, in one piece of memory.

    What one rank writes all others see at once. Other ranks' own tensor is not looked at.
    """
    import pickle
    from multiprocessing.reduction import ForkingPickler

    import torch.multiprocessing  # teaches the pickler tensors

    if comm.rank == 0:
        tensor.share_memory_()
        for other in range(1, comm.size):
            # What is sent in place of memory that is shared. One for each: it can be opened once.
            handle = bytearray(ForkingPickler.dumps(tensor))
            comm.send(torch.frombuffer(handle, dtype=torch.uint8), other)
    else:
        tensor = pickle.loads(comm.recv(0).numpy().tobytes())
    comm.barrier()  # rank 0 is asked for its memory until all have opened it
    return tensor


def hogwild(comm: Comm, task: Task, updates: int, rate: float, batch: int = 32) -> Wild:
    """This rank's share of so many updates of shared weights; plain SGD, and nobody is asked.

    A gradient may be computed on weights that change meanwhile, and an update may overwrite a part
    of another one. With one rank it is plain SGD. The weights come back when all are done.
    """
    weights = shared(comm, task.initial())
    mine = len(range(comm.rank, updates, comm.size))
    begin = time.perf_counter()
    for step in range(mine):
        gradient = task.gradient(weights, task.rows(comm.rank, step, batch))
        weights.add_(gradient, alpha=-rate)
    seconds = time.perf_counter() - begin
    comm.barrier()
    return Wild(seconds, mine, weights.clone())


def lost(comm: Comm, size: int, times: int, entries: int) -> tuple[int, int]:
    """How many additions of 1 are missing, and of how many, when all ranks add without a lock.

    Each rank adds 1 to `entries` of `size` counters, other ones each time, so many times. All of
    them at once is an update of a dense model, few are one of a sparse model.
    """
    import torch

    counters = shared(comm, torch.zeros(size, dtype=torch.float64))
    random = torch.Generator().manual_seed(comm.rank)
    places = [torch.randperm(size, generator=random)[:entries] for _ in range(50)]
    ones = torch.ones(entries, dtype=torch.float64)
    comm.barrier()
    for turn in range(times):
        if entries == size:
            counters.add_(1)
        else:
            counters.index_add_(0, places[turn % len(places)], ones)
    comm.barrier()
    made = comm.size * times * entries
    return made - int(counters.sum()), made
