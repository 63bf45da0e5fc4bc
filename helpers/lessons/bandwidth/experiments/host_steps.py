"""Data-parallel steps on hosts whose computing takes a stated time: what short runs measure.

All hosts share this machine's cores, so a gradient that each computed for real would take longer
the more there are. A step therefore sleeps for its computing, as if every host had a processor of
its own, and then really sums its gradients over the links.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
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


def timed(
    comm: Comm,
    count: int,
    step: Callable[[], object],
    before: Callable[[], object] = lambda: None,
) -> list[float]:
    """Seconds of each of `count` steps, which all ranks begin together, after one not counted.

    before: run ahead of each, untimed.
    """
    taken = []
    for _ in range(count + 1):
        before()
        comm.barrier()
        start = comm.time()
        step()
        taken.append(comm.time() - start)
    return taken[1:]


def on_hosts(fn: Callable[..., Any], *args: Any, engine: str = "hosts", **links: Any) -> Any:
    """Run fn(comm, *args) on virtual hosts; what `helpers.run` returns. links: as it takes them."""
    return helpers.run(fn, *args, engine=engine, timeout=300, show=False, **links)


def slowest(ranks: Iterable[Sequence[float]]) -> float:
    """The median over the steps of the slowest rank's seconds, of each rank's seconds by step."""
    return statistics.median(max(each) for each in zip(*ranks, strict=True))


def steps(
    comm: Comm, nbytes: int, compute: float, count: int, all_reduce: AllReduce
) -> list[float]:
    """Seconds of each of `count` steps on this rank: computing, and then a sum of gradients."""
    import torch

    gradients = torch.zeros(max(nbytes // 4, 1))

    def step() -> None:
        comm.compute(compute)
        all_reduce(comm, gradients)

    return timed(comm, count, step)


def step_seconds(
    hosts: int,
    nbytes: int,
    compute: float,
    bandwidth: Bandwidth | Sequence[Bandwidth],
    *,
    all_reduce: AllReduce = all_reduce_ring,
    count: int = 3,
    **run: Any,
) -> float:
    """The median step of the slowest rank, in seconds.

    nbytes: of the gradients. compute: seconds of each rank's computing. run: as in `helpers.run`.
    """
    arguments = nbytes, compute, enough(count), all_reduce
    return slowest(on_hosts(steps, *arguments, hosts=hosts, bandwidth=bandwidth, **run))


def push_pull(comm: Comm, servers: int, nbytes: int, count: int) -> list[float]:
    """Seconds of each of `count` steps: all workers pull the weights, and then all push gradients.

    The first `servers` ranks are servers with an equal part each, all others workers.
    """
    import torch

    part = torch.zeros(max(nbytes // 4 // servers, 1))
    workers = list(range(servers, comm.size))
    if comm.rank < servers:
        turn = comm.rank * len(workers) // servers
        others = workers[turn:] + workers[:turn]  # no two servers send to one worker at a time
    else:
        turn = comm.rank % servers
        others = [*range(turn, servers), *range(turn)]

    def step() -> None:
        for sends in (comm.rank < servers, comm.rank >= servers):
            exchange(comm, part, others, sends)
            comm.barrier()

    return timed(comm, count, step)


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
    **run: Any,
) -> float:
    """The median step of workers and servers that each have a host of their own, in seconds."""
    hosts = workers + servers
    arguments = servers, nbytes, enough(count)
    return slowest(on_hosts(push_pull, *arguments, hosts=hosts, bandwidth=bandwidth, **run))


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
