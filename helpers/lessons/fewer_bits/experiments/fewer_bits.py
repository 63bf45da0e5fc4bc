"""The same training with gradients that travel in ten ways: losses at the end, bytes on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from helpers.engine.comm import Comm
from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
from helpers.lessons.data_parallel.experiments.digits import digits
from helpers.lessons.fewer_bits.algorithms.encodings import Signs, TopK, falling_share
from helpers.lessons.fewer_bits.algorithms.feedback import MomentumCorrection, Nothing
from helpers.lessons.fewer_bits.algorithms.local_steps import LocalSteps
from helpers.lessons.fewer_bits.algorithms.power_sgd import PowerSgd
from helpers.lessons.fewer_bits.algorithms.two_way import HalfRing, TwoWay
from helpers.lessons.fewer_bits.experiments.sentences import CharacterModel, characters
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring


class Task(NamedTuple):
    """What is trained. rate: of SGD with momentum 0.9; inner: of AdamW. batch: of all ranks."""

    make: Callable[[], nn.Module]
    train: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    rate: float
    inner: float
    batch: int = 64


# How gradients are summed, by name: a reducer of a rank's own.
REDUCERS: dict[str, Callable[[], Any]] = {
    "float32": lambda: all_reduce_ring,
    "bf16": HalfRing,
    "fp16": lambda: HalfRing(torch.float16),
    "top 1 %": lambda: TwoWay(TopK(falling_share(0.01, 50))),
    "top 1 %, no feedback": lambda: TwoWay(TopK(falling_share(0.01, 50)), Nothing()),
    "1 bit": lambda: TwoWay(Signs()),
    "1 bit, no feedback": lambda: TwoWay(Signs(), Nothing()),
    "PowerSGD 4": lambda: PowerSgd(4),
    "PowerSGD 4, no feedback": lambda: PowerSgd(4, Nothing()),
}
CORRECTED = "top 1 %, momentum corrected"
LOCAL = "DiLoCo"


def task(name: str) -> Task:
    """ "digits", a net with one hidden layer; or "characters", a small character model."""
    if name == "digits":
        data = digits()
        make = lambda: nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))  # noqa: E731
        train, test = (data.train_x, data.train_y), (data.test_x, data.test_y)
        return Task(make, train, test, rate=0.05, inner=1e-3)
    if name == "characters":
        return Task(CharacterModel, characters(), characters(4000, 1), rate=0.1, inner=3e-3)
    raise ValueError(f'There is no task {name}: "digits" or "characters".')


def trains(comm: Comm, name: str, scheme: Any, seed: int, steps: int) -> tuple[float, float]:
    """Train on ranks; the training loss over all rows at the end, and the test loss.

    scheme: of REDUCERS, CORRECTED, or LOCAL, whose ranks take 50 steps of AdamW alone;
    "AdamW" sums in every one; or a function (comm, tensor) that sums in place. The rate falls along
    half a cosine.
    """
    its = task(name)
    torch.manual_seed(seed)
    model = its.make()
    generator = torch.Generator().manual_seed(seed)  # all ranks draw the same batches
    if scheme == CORRECTED:
        reduce: Any = TwoWay(TopK(falling_share(0.01, 50)), MomentumCorrection(0.9))
    else:
        reduce = scheme if callable(scheme) else REDUCERS.get(scheme, lambda: all_reduce_ring)()
    replica = model if scheme == LOCAL else DataParallel(model, comm, reduce)
    local = LocalSteps(model, comm, interval=50) if scheme == LOCAL else None
    optimizer: torch.optim.Optimizer
    if scheme in (LOCAL, "AdamW"):
        optimizer = torch.optim.AdamW(model.parameters(), its.inner)
    else:
        momentum = 0.0 if scheme == CORRECTED else 0.9
        optimizer = torch.optim.SGD(model.parameters(), its.rate, momentum)
    top = optimizer.param_groups[0]["lr"]
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = top * (1 + math.cos(math.pi * step / steps)) / 2
        rows = torch.randint(len(its.train[1]), (its.batch,), generator=generator)
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


def trains_all(
    comm: Comm, name: str, scheme: Any, seeds: Sequence[int], steps: int
) -> list[tuple[float, float]]:
    """`trains` once for each seed, in one run."""
    return [trains(comm, name, scheme, seed, steps) for seed in seeds]
