"""The same training with gradients that travel in several ways: what losses it ends at."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from helpers.engine.comm import Comm
from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
from helpers.lessons.data_parallel.experiments.digits import digits
from helpers.lessons.fewer_bits.algorithms.encodings import Signs, TopK, falling_share
from helpers.lessons.fewer_bits.algorithms.feedback import Nothing
from helpers.lessons.fewer_bits.algorithms.local_steps import LocalSteps
from helpers.lessons.fewer_bits.algorithms.power_sgd import PowerSgd
from helpers.lessons.fewer_bits.algorithms.two_way import HalfRing, TwoWay
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring

BATCH = 64  # of all ranks
RATE, INNER = 0.05, 1e-3  # of SGD with momentum 0.9, and of AdamW
# How gradients are summed, by name: a reducer of a rank's own.
REDUCERS: dict[str, Callable[[], Any]] = {
    "float32": lambda: all_reduce_ring,
    "bf16": HalfRing,
    "top 1 %": lambda: TwoWay(TopK(falling_share(0.01, 50))),
    "top 1 %, no feedback": lambda: TwoWay(TopK(falling_share(0.01, 50)), Nothing()),
    "1 bit": lambda: TwoWay(Signs()),
    "1 bit, no feedback": lambda: TwoWay(Signs(), Nothing()),
    "PowerSGD 4": lambda: PowerSgd(4),
    "PowerSGD 4, no feedback": lambda: PowerSgd(4, Nothing()),
}
LOCAL = "DiLoCo"


class Task(NamedTuple):
    """What is trained: a net on the digits, and the rows to train on and to test by."""

    make: Callable[[], nn.Module]
    train: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


def task() -> Task:
    """A net with one hidden layer."""
    data = digits()
    return Task(
        lambda: nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)),
        (data.train_x, data.train_y),
        (data.test_x, data.test_y),
    )


def trains(comm: Comm, scheme: Any, seed: int, steps: int) -> tuple[float, float]:
    """Train on ranks; the training loss over all rows at the end, and the test loss.

    scheme: of REDUCERS, or LOCAL, whose ranks take 50 steps of AdamW alone; "AdamW" sums in every
    one; or a function (comm, tensor) that sums in place. The rate falls along half a cosine.
    """
    its = task()
    torch.manual_seed(seed)
    model = its.make()
    generator = torch.Generator().manual_seed(seed)  # all ranks draw the same batches
    reduce = scheme if callable(scheme) else REDUCERS.get(scheme, lambda: all_reduce_ring)()
    replica = model if scheme == LOCAL else DataParallel(model, comm, reduce)
    local = LocalSteps(model, comm, interval=50) if scheme == LOCAL else None
    optimizer: torch.optim.Optimizer
    if scheme in (LOCAL, "AdamW"):
        optimizer = torch.optim.AdamW(model.parameters(), INNER)
    else:
        optimizer = torch.optim.SGD(model.parameters(), RATE, momentum=0.9)
    top = optimizer.param_groups[0]["lr"]
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = top * (1 + math.cos(math.pi * step / steps)) / 2
        rows = torch.randint(len(its.train[1]), (BATCH,), generator=generator)
        mine = rows[comm.rank :: comm.size]
        optimizer.zero_grad()
        cross_entropy(replica(its.train[0][mine]), its.train[1][mine]).backward()
        if local is None:
            replica.finish()  # type: ignore[operator]
        optimizer.step()
        if local is not None:
            local.step()
    if local is not None:
        local.finish()
    with torch.no_grad():
        losses = [float(cross_entropy(model(x), y)) for x, y in (its.train, its.test)]
    return losses[0], losses[1]
