"""A training step with the model parallelism of lessons 13 and 14 beside torch's own.

Each pair trains the same Transformer on the same tokens, on the same ranks, in turn: our pipelines
beside `torch.distributed.pipelining`, our tensor-parallel layers beside DTensor, our sharding
beside FSDP2. A step is zero_grad, forward, loss, backward, what is sent for them, and SGD's
update; its time is that of the slowest rank.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

import helpers
from benchmarks.report import Report, ratio, slowest
from helpers.lessons.pipelines.algorithms import schedules
from helpers.lessons.pipelines.algorithms.pipeline import Pipeline, cut, microbatches
from helpers.lessons.sharding.algorithms.sharding import Sharded
from helpers.lessons.sharding.algorithms.vocabulary_parallel import (
    parallel_transformer,
    vocabulary_cross_entropy,
)
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer
from helpers.notebook.measure import in_turn

RANKS = (2, 4)
REPEATS = 15
RATE = 0.01
AT_MOST = 1.15
VOCABULARY, LENGTH = 512, 64
ROWS, MICROBATCHES = 16, 8
SCHEDULES: dict[str, schedules.Schedule] = {
    "GPipe": schedules.gpipe,
    "1F1B": schedules.one_forward_one_backward,
    "interleaved": schedules.interleaved,
}

Step = Callable[[], float | None]
"""One training step; the loss where the rank knows it."""
Pair = dict[str, Step]
"""Ours and theirs, under the names that the table shows."""


def model() -> torch.nn.Sequential:
    """The model that every contender trains: 5 million parameters, the same on every rank."""
    return transformer(VOCABULARY, width=256, heads=8, blocks=6, length=LENGTH)


def training(parameters: Any, loss: Callable[[], Tensor]) -> Step:
    """A step of SGD; loss: forward, on a whole or a cut model."""
    optimizer = torch.optim.SGD(parameters, RATE)

    def step() -> float:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return float(value)

    return step


def pipelines(comm: Any, name: str) -> Pair:
    """A schedule carried out by our interpreter and by torch's."""
    from helpers.lessons.pipelines.experiments.torch_pipeline import TorchPipeline

    tokens, targets = text(ROWS, LENGTH, VOCABULARY)
    parts = comm.size * (2 if name == "interleaved" else 1)
    ours = Pipeline(comm, cut(model(), parts), SCHEDULES[name], token_loss)
    theirs = TorchPipeline(comm, cut(model(), parts), name, token_loss, MICROBATCHES)

    def step(pipeline: Any, run: Callable[[], float | None]) -> Step:
        optimizer = torch.optim.SGD(pipeline.parameters(), RATE)

        def trains() -> float | None:
            optimizer.zero_grad()
            value = run()
            optimizer.step()
            return value

        return trains

    inputs, wanted = microbatches(tokens, MICROBATCHES), microbatches(targets, MICROBATCHES)
    return {
        f"ours, {name}": step(ours, lambda: ours.step(inputs, wanted)),
        f"torch pipelining, {name}": step(theirs, lambda: theirs.step(tokens, targets)),
    }


def tensor_parallel(comm: Any) -> Pair:
    """A Transformer whose matrices and vocabulary are cut, by our layers and by DTensor's."""
    from torch.distributed.device_mesh import init_device_mesh

    from helpers.lessons.sharding.experiments import torch_tensor_parallel as theirs

    tokens, targets = text(ROWS, LENGTH, VOCABULARY)
    ours = parallel_transformer(model(), comm)
    mesh = init_device_mesh(comm.device.type, (comm.size,))
    cut_by_torch = theirs.parallelize(model(), mesh)
    optimizer = torch.optim.SGD(cut_by_torch.parameters(), RATE, foreach=False)

    def loss() -> Tensor:
        return vocabulary_cross_entropy(comm, ours(tokens), targets, VOCABULARY)

    def step() -> float:
        return float(theirs.step(cut_by_torch, optimizer, tokens, targets))

    return {"ours, tensor parallel": training(ours.parameters(), loss), "DTensor": step}


def sharded(comm: Any, stage: int) -> Pair:
    """Sharded data parallelism, ours and FSDP2's, which keeps a unit's parameters in stage 2."""
    from helpers.lessons.sharding.experiments.torch_fsdp import TorchSharded

    tokens, targets = text(ROWS, LENGTH, VOCABULARY, seed=comm.rank)
    make = partial(torch.optim.SGD, lr=RATE)
    contenders: dict[str, Any] = {
        f"ours, stage {stage}": Sharded(model(), comm, make, stage=stage),
        f"FSDP2, stage {stage}": TorchSharded(model(), comm, make, reshard=stage == 3),
    }

    def step(contender: Any) -> float:
        contender.zero_grad()
        value = token_loss(contender(tokens), targets)
        value.backward()
        contender.step()
        return float(value)

    return {name: partial(step, contender) for name, contender in contenders.items()}


def side_by_side(comm: Any, make: Callable[..., Pair], *args: Any) -> tuple[Any, float]:
    """Both of a pair in turn. Returns their seconds, and how far their last losses are apart."""
    pair, last = make(comm, *args), dict[str, float]()

    def noting(name: str) -> Callable[[], None]:
        def run() -> None:
            last[name] = pair[name]() or 0.0

        return run

    seconds = in_turn(comm, {name: noting(name) for name in pair}, REPEATS)
    ours, theirs = last.values()
    return seconds, abs(ours - theirs)


PAIRS: dict[str, tuple[Any, ...]] = {
    "pipeline, GPipe": (pipelines, "GPipe"),
    "pipeline, 1F1B": (pipelines, "1F1B"),
    "pipeline, interleaved": (pipelines, "interleaved"),
    "tensor parallel": (tensor_parallel,),
    "sharded, stage 2": (sharded, 2),
    "sharded, stage 3": (sharded, 3),
}


def add_to(report: Report) -> None:
    """Measure every pair at each number of ranks, and put it into a report."""
    for ranks in RANKS:
        for what, arguments in PAIRS.items():
            if what == "pipeline, interleaved" and ranks == 4:
                continue  # 8 stages are all 8 layers: nothing is left to balance
            results = helpers.run(side_by_side, *arguments, ranks=ranks, timeout=300, show=False)
            apart = [apart for _, apart in results]
            if not all(each <= 1e-5 for each in apart):  # what is no number is not
                raise RuntimeError(f"{what}: the losses are {apart} apart; they should agree.")
            times = slowest([seconds for seconds, _ in results])
            ours, theirs = times
            case = f"{what}, {ranks} ranks"
            value = ratio(times[ours], times[theirs])
            report.add(case, ours, times[ours], f"{value:.2f}× {theirs}")
            report.add(case, theirs, times[theirs])
            report.claim(f"{ours}, of {theirs}'s step, {ranks} ranks", value, AT_MOST, False)
