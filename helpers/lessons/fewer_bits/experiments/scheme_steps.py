"""Steps whose gradients travel in different ways, over links that are asked for.

As in `host_steps`, a step sleeps for its computing, for all hosts share this machine's cores; its
gradients are coded and sent for real.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from helpers.engine.comm import Comm
from helpers.lessons.bandwidth.experiments.host_steps import on_hosts, slowest
from helpers.lessons.data_parallel.algorithms.bucket import Bucket
from helpers.lessons.fewer_bits.algorithms.encodings import Signs, TopK
from helpers.lessons.fewer_bits.algorithms.power_sgd import PowerSgd, power_sgd_numbers
from helpers.lessons.fewer_bits.algorithms.step_cost import Scheme, ring_share
from helpers.lessons.fewer_bits.algorithms.two_way import HalfRing, TwoWay
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring
from helpers.notebook.repeats import enough

COLUMNS = 1000
INTERVAL = 50
REDUCERS: dict[str, Callable[[], Any]] = {
    "float32": lambda: all_reduce_ring,
    "bf16": HalfRing,
    "top 1 %": lambda: TwoWay(TopK(0.01)),
    "1 bit": lambda: TwoWay(Signs()),
    "PowerSGD 4": lambda: PowerSgd(4),
    "PowerSGD 32": lambda: PowerSgd(32),
}
LOCAL = f"every {INTERVAL} steps"


class Steps(NamedTuple):
    """What some steps took, in seconds, and how many bytes of tensors left the busiest host."""

    seconds: float
    nbytes: float


def shares(name: str, nbytes: int) -> float:
    """The share of the dense bytes that a way sends. nbytes: of the dense gradient."""
    if name.startswith("PowerSGD"):
        rank = int(name.split()[1])
        return power_sgd_numbers([(nbytes // 4 // COLUMNS, COLUMNS)], rank) / (nbytes // 4)
    return {"bf16": 1 / 2, "top 1 %": 0.02, "1 bit": 1 / 32}.get(name, 1.0)


def steps(comm: Comm, name: str, nbytes: int, compute: float, count: int) -> list[float]:
    """Seconds of each of `count` steps on this rank, after one that is not counted.

    For LOCAL, a sum's seconds count for INTERVAL steps: each is a mean one.
    """
    import torch

    weight = torch.nn.Parameter(torch.zeros(nbytes // 4 // COLUMNS, COLUMNS))
    bucket = Bucket([weight], torch.zeros(weight.numel()))
    reduce = REDUCERS.get(name, lambda: all_reduce_ring)()
    if hasattr(reduce, "take_buckets"):
        reduce.take_buckets([bucket])
    drawn = torch.randn(weight.numel(), generator=torch.Generator().manual_seed(comm.rank))
    taken = []
    for _ in range(count + 1):
        bucket.flat.copy_(drawn)
        comm.barrier()
        start = comm.time()
        comm.compute(compute)
        middle = comm.time()
        reduce(comm, bucket.flat)
        end = comm.time()
        sums = (end - middle) / (INTERVAL if name == LOCAL else 1)
        taken.append(middle - start + sums)
    return taken[1:]


def measured(
    name: str, nbytes: int, compute: float, workers: int, bandwidth: Any, count: int = 3
) -> Steps:
    """The median step of the slowest rank. bandwidth: of the hosts' links, or "memory" for none."""
    count = enough(count)
    links = (
        {"engine": "processes", "ranks": workers}
        if bandwidth == "memory"
        else {"hosts": workers, "bandwidth": bandwidth}
    )
    ranks = on_hosts(steps, name, nbytes, compute, count, **links)
    stats = ranks.stats
    sent = max(stats.bytes if bandwidth == "memory" else (link.out for link in stats.links))
    return Steps(slowest(ranks), sent / (count + 1) / (INTERVAL if name == LOCAL else 1))


def fitted(
    name: str, nbytes: int, compute: float, workers: int, plain: float, seconds: float
) -> Scheme:
    """A way's coding, from a step of it and a plain one over the same link.

    plain, seconds: of a step without and with it. Where the difference is noise, coding is 0.
    """
    if name == LOCAL:
        return Scheme(name, interval=INTERVAL)
    share = shares(name, nbytes)
    coding = seconds - compute - share * (plain - compute)
    return Scheme(name, share, max(coding, 0.0) / nbytes)


def rate_of(nbytes: int, compute: float, workers: int, plain: float) -> float:
    """The bytes a second that a link carries, from a plain step over it."""
    return ring_share(workers) * nbytes / (plain - compute)
