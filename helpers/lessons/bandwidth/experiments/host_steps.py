"""Data-parallel steps on hosts whose computing takes a stated time: what short runs measure.

All hosts share this machine's cores, so a gradient that each computed for real would take longer
the more there are. A step therefore sleeps for its computing, as if every host had a processor of
its own, and then really sums its gradients over the links.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring
from helpers.notebook.repeats import enough

AllReduce = Callable[[Comm, Any], Any]
Bandwidth = str | float | None


def source() -> str:
    """What times of hosts are here: "measured", or "on the virtual clock" where there are none."""
    results = helpers.run(_nothing, engine="hosts", hosts=2, show=False)
    return "on the virtual clock" if results.trace.virtual else "measured"


def _nothing(comm: Comm) -> None:
    """A run that only starts."""


def steps(
    comm: Comm, nbytes: int, compute: float, count: int, all_reduce: AllReduce
) -> list[float]:
    """Seconds of each of `count` steps on this rank, after one that is not counted."""
    import torch

    gradients, taken = torch.zeros(max(nbytes // 4, 1)), []
    for _ in range(count + 1):
        comm.barrier()
        start = comm.time()
        comm.compute(compute)
        all_reduce(comm, gradients)
        taken.append(comm.time() - start)
    return taken[1:]


def step_seconds(
    hosts: int,
    nbytes: int,
    compute: float,
    bandwidth: Bandwidth | Sequence[Bandwidth],
    *,
    ranks_per_host: int = 1,
    all_reduce: AllReduce = all_reduce_ring,
    count: int = 3,
    engine: str = "hosts",
) -> float:
    """The median step of the slowest rank, in seconds.

    nbytes: of the gradients. compute: seconds of each rank's computing. Others as in `helpers.run`.
    """
    ranks = helpers.run(
        steps, nbytes, compute, enough(count), all_reduce, engine=engine, hosts=hosts,
        ranks_per_host=ranks_per_host, bandwidth=bandwidth, timeout=300, show=False,
    )  # fmt: skip
    return statistics.median(max(each) for each in zip(*ranks, strict=True))


def push_pull(comm: Comm, servers: int, nbytes: int, count: int) -> list[float]:
    """Seconds of each of `count` steps: all workers pull the weights, and then all push gradients.

    The first `servers` ranks are servers with an equal part each, all others workers. A step that
    is not counted comes first.
    """
    import torch

    part, taken = torch.zeros(max(nbytes // 4 // servers, 1)), []
    workers = list(range(servers, comm.size))
    if comm.rank < servers:
        turn = comm.rank * len(workers) // servers
        others = workers[turn:] + workers[:turn]  # no two servers send to one worker at a time
    else:
        turn = comm.rank % servers
        others = [*range(turn, servers), *range(turn)]
    for _ in range(count + 1):
        comm.barrier()
        start = comm.time()
        exchange(comm, part, others, sends=comm.rank < servers)
        comm.barrier()
        exchange(comm, part, others, sends=comm.rank >= servers)
        comm.barrier()
        taken.append(comm.time() - start)
    return taken[1:]


def exchange(comm: Comm, part: Any, others: Sequence[int], sends: bool) -> None:
    """Send a part to each of some ranks, or receive one from each."""
    if sends:
        requests = [comm.isend(part, other) for other in others]
    else:
        requests = [comm.irecv(other) for other in others]
    for request in requests:
        request.wait()


def push_pull_seconds(
    workers: int,
    servers: int,
    nbytes: int,
    bandwidth: Bandwidth | Sequence[Bandwidth],
    *,
    count: int = 3,
    engine: str = "hosts",
) -> float:
    """The median step of workers and servers that each have a host of their own, in seconds."""
    ranks = helpers.run(
        push_pull, servers, nbytes, enough(count), engine=engine, hosts=workers + servers,
        bandwidth=bandwidth, timeout=300, show=False,
    )  # fmt: skip
    return statistics.median(max(each) for each in zip(*ranks, strict=True))


class Weights:
    """A task of so many bytes whose gradients cost nothing: for runs about links alone."""

    def __init__(self, nbytes: int, compute: float = 0.0) -> None:
        self._length, self._compute = max(nbytes // 4, 1), compute

    def initial(self) -> Any:
        """Zeros, (length,) float32."""
        import torch

        return torch.zeros(self._length)

    def rows(self, worker: int, step: int, batch: int) -> Any:
        """Row 0, over and over: (batch,)."""
        import torch

        return torch.zeros(batch, dtype=torch.long)

    def gradient(self, weights: Any, rows: Any) -> Any:
        """Zeros like the weights, after the computing's time."""
        import time

        time.sleep(self._compute)
        return weights * 0

    def gradients(self, weights: Any, rows: Any) -> Any:
        """Zeros for each worker, (n, length); on a clock computing takes no real time."""
        return weights * 0

    def error(self, weights: Any) -> float:
        """0 %: there is nothing to get wrong."""
        return 0.0
