"""Steps of DDP with torch's communication hooks, and of the course's reducers beside them.

Bytes are those that a host's own interface has sent, with all headers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from helpers.lessons.bandwidth.experiments.host_steps import on_hosts, slowest
from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
from helpers.lessons.fewer_bits.experiments.scheme_steps import COLUMNS, REDUCERS
from helpers.notebook.repeats import enough

NBYTES = 10_000_000
RANK = 32  # of PowerSGD's factors


def hooked(comm: Any, count: int, hook: str) -> Any:
    """Seconds of steps of DDP, with one of torch's hooks, and the bytes that left this host."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(
        torch.nn.Linear(COLUMNS, NBYTES // 4 // COLUMNS, bias=False), bucket_cap_mb=100
    )
    if hook == "powerSGD_hook":
        state = powerSGD_hook.PowerSGDState(None, RANK, start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    elif hook:
        model.register_comm_hook(getattr(default_hooks, hook), through)
    rows = torch.randn(1, COLUMNS)
    # The first rebuild buckets, or are not compressed.
    return watched(comm, count, 3, lambda: model(rows).sum().backward())


def watched(comm: Any, count: int, first: int, step: Callable[[], object]) -> dict[str, Any]:
    """Seconds of each step, and the bytes that left this host in it, after the first ones."""
    taken, left = [], []
    for _ in range(count + first):
        comm.barrier()
        before, start = left_host(), comm.time()
        step()
        taken.append(comm.time() - start)
        comm.barrier()
        left.append(left_host() - before)
    return {"seconds": taken[first:], "bytes": left[first:]}


def through(hook: Any, bucket: Any) -> Any:
    """One of torch's hooks under another name: by its own, DDP refuses bf16's without NCCL."""
    return hook(None, bucket)


# DDP looks at the types themselves, not at their names.
through.__annotations__ = {
    "bucket": torch.distributed.GradBucket,
    "return": torch.futures.Future[torch.Tensor],
}


def left_host() -> int:
    """The bytes that have left this host so far, as its own interface counts them."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    fields = [line.split(":") for line in lines if not line.strip().startswith("lo:")]
    return sum(int(values.split()[8]) for _, values in fields)


def ours(comm: Any, count: int, name: str) -> Any:
    """The same of the course's own reducer."""
    model = torch.nn.Linear(COLUMNS, NBYTES // 4 // COLUMNS, bias=False)
    replica = DataParallel(model, comm, REDUCERS[name](), bucket_bytes=10**8)
    rows = torch.randn(1, COLUMNS)

    def step() -> None:
        model.zero_grad()
        replica(rows).sum().backward()
        replica.finish()

    return watched(comm, count, 1, step)


# By name: the course's reducer, and torch's hook.
PAIRS = {
    name: (partial(ours, name=name), partial(hooked, hook=hook))
    for name, hook in (
        ("float32", ""),
        ("bf16", "bf16_compress_hook"),
        (f"PowerSGD {RANK}", "powerSGD_hook"),
    )
}


def measured(fn: Any, hosts: int, bandwidth: str, count: int = 3) -> tuple[float, float]:
    """The median step of the slowest rank in seconds, and the most bytes that left a host in it."""
    ranks = on_hosts(fn, enough(count), hosts=hosts, bandwidth=bandwidth)
    seconds, left = (slowest(rank[key] for rank in ranks) for key in ("seconds", "bytes"))
    return seconds, left
