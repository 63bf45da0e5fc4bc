"""The network in vertical slices (lesson 12), a slice a rank: all see all rows of a step.

The rows are those of synchronous training, so the weights are the same up to rounding, and only
the seconds differ.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from helpers.engine.comm import Comm
from helpers.lessons.capstone.algorithms.runs import Look, Run
from helpers.lessons.capstone.experiments.settings import LOOKS, Setting
from helpers.lessons.capstone.experiments.worn_digits import WIDTHS, WornTask
from helpers.lessons.data_parallel.experiments.models import mlp
from helpers.lessons.splitting.algorithms.split_cost import Rates, dense_work


def train_in_slices(setting: Setting, rate: float, task: WornTask) -> Run:
    """Train on ranks of an engine."""
    import helpers

    options: dict[str, Any] = {"engine": setting.engine, "timeout": 120.0, "show": False}
    if setting.engine == "hosts":
        options |= {"hosts": setting.workers, "bandwidth": setting.bandwidth}
    else:
        options |= {"ranks": setting.workers, "device": "cpu"}
    called = time.perf_counter()
    began, looks, took = helpers.run(in_slices, setting, rate, task, **options)[0]
    ready = time.perf_counter() - called - took  # on this process's own clock
    return Run(ready, [look._replace(at=look.at - began + ready) for look in looks])


def in_slices(
    comm: Comm, setting: Setting, rate: float, task: WornTask
) -> tuple[float, list[Look], float]:
    """A rank's part: when all were ready, the looks, and the seconds from then to the end.

    All ranks look at the model together, and train on when all have.
    """
    from helpers.lessons.splitting.algorithms.vertical_split import VerticalSplit

    torch.set_num_threads(1)
    net = VerticalSplit(comm, mlp(WIDTHS, seed=task.seed))
    parameters = list(net.parameters())
    comm.barrier()
    began, looks = comm.time(), []
    every = max(1, setting.steps // LOOKS)
    for step in range(setting.steps + 1):
        if step % every == 0:
            looks.append(_look(comm, net, task))
        rows = torch.cat([task.rows(w, step, setting.rows) for w in range(setting.workers)])
        comm.compute(setting.extra[comm.rank])
        loss = cross_entropy(net(task.data.train_x[rows]), task.data.train_y[rows])
        for parameter, slope in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.data -= rate * slope
    return began, looks, comm.time() - began


def _look(comm: Comm, net: Any, task: WornTask) -> Look:
    """All ranks make the outputs for the test pictures; they wait for each other around that."""
    comm.barrier()
    at = comm.time()
    with torch.no_grad():
        guesses = net(task.data.test_x)
    wrong = (guesses.argmax(-1) != task.data.test_y).double().mean()
    error = 100 * float(wrong) if torch.isfinite(guesses).all() else 100.0
    comm.barrier()
    return Look(at, comm.time() - at, error)


def on_clock(setting: Setting, whole: Run, seed: int) -> Run:
    """Synchronous training's errors, at the seconds that slices take. whole: that training.

    In a step each rank computes as long as for a gradient of its own rows: 1/N of the network for
    N times the rows. All wait for the slowest, and exchange activations (`split_cost.dense_work`).
    """
    errors = whole.looks
    slowest = setting.times.table(setting.steps, setting.workers, seed).max(axis=1)
    work = dense_work(setting.rows * setting.workers, WIDTHS, setting.workers)
    beta = 1 / setting.bandwidth if setting.bandwidth else 0.0
    sends = work._replace(flops=0.0).seconds(Rates(1.0, setting.latency, beta))
    every = max(1, setting.steps // LOOKS)
    at = [float(slowest[: n * every].sum()) + n * every * sends for n in range(len(errors))]
    return Run(0.0, [Look(when, 0.0, look.error) for when, look in zip(at, errors, strict=True)])
