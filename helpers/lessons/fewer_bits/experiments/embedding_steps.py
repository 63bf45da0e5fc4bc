"""Steps of an embedding table whose gradient is sent whole, or as the rows that were touched."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from helpers.engine.comm import Comm
from helpers.lessons.bandwidth.experiments.host_steps import on_hosts, slowest
from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
from helpers.lessons.fewer_bits.algorithms.sparse_rows import SparseRows
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring
from helpers.notebook.repeats import enough

WIDTH = 32


class RowSteps(NamedTuple):
    """Seconds of a step on the slowest rank; MB out of the busiest host in it; the weights."""

    seconds: float
    mb: float
    weights: torch.Tensor


def steps(comm: Comm, sparse: bool, words: int, drawn: int, count: int) -> Any:
    """Seconds of each of `count` steps of DataParallel, and the table afterwards.

    words: rows of the table. drawn: words of a rank's batch, as words occur in texts: the n-th most
    frequent about 1/n as often as the first.
    """
    torch.manual_seed(0)
    table = nn.Embedding(words, WIDTH)
    reduce: Any = SparseRows(table.parameters()) if sparse else all_reduce_ring
    replica = DataParallel(table, comm, reduce)
    generator = torch.Generator().manual_seed(1 + comm.rank)
    taken = []
    for _ in range(count + 1):
        places = words ** torch.rand(drawn, generator=generator, dtype=torch.float64)
        table.zero_grad()
        comm.barrier()
        start = comm.time()
        replica(places.long().clamp(max=words - 1)).square().sum().div(drawn).backward()
        replica.finish()
        taken.append(comm.time() - start)
        with torch.no_grad():
            table.weight -= 0.5 * table.weight.grad  # type: ignore[operator]
    return taken[1:], table.weight.detach()


def measured(
    sparse: bool, words: int, drawn: int, hosts: int, bandwidth: str, count: int = 3
) -> RowSteps:
    """The median step over links of one bandwidth."""
    count = enough(count)
    start, ranks = (
        on_hosts(steps, sparse, words, drawn, each, hosts=hosts, bandwidth=bandwidth)
        for each in (0, count)
    )
    seconds = slowest(seconds for seconds, _ in ranks)
    out, before = (max(link.out for link in run.stats.links) for run in (ranks, start))
    return RowSteps(seconds, (out - before) / count / 1e6, ranks[0][1])
