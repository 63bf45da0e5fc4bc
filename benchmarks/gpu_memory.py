"""Memory by formula, and as torch counts it on a GPU: data parallelism, sharding, cut models.

By formula are parameters, gradients and Adam's state, as `algorithms/data_parallel/memory.py`
counts them. Activations are no part of it; they show in the peak. On a CPU nothing is counted, but
all of it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from benchmarks.on_device import MemoryMeter, finish
from benchmarks.report import Report

ERROR = 0.05
"""How far the bytes that a rank keeps may be from the formula, in parts of it."""


class Size(NamedTuple):
    """A Transformer and its batch: rows of each rank, and microbatches for a pipeline."""

    width: int = 1024
    blocks: int = 4
    length: int = 256
    vocabulary: int = 1024
    rows: int = 16
    microbatches: int = 8

    def model(self, device: Any) -> Any:
        """The same weights on every rank: 52 million parameters in the default size."""
        from helpers.lessons.splitting.experiments.transformer import transformer

        heads = max(2, self.width // 64)
        made = transformer(self.vocabulary, self.width, heads, self.blocks, self.length)
        return made.to(device)

    def batch(self, device: Any, seed: int = 0) -> list[Any]:
        """Tokens and the tokens that follow."""
        from helpers.lessons.splitting.experiments.transformer import text

        made = text(self.rows, self.length, self.vocabulary, seed)
        return [tensor.to(device) for tensor in made]


SIZE = Size()


class Kept(NamedTuple):
    """What a rank of one way holds for training, in bytes, and what two of its steps took.

    formula: parameters, gradients and optimizer state. measured: by torch, after a step; peak: the
    most during one, with activations. Both are None on a CPU.
    """

    formula: float
    measured: int | None
    peak: int | None
    seconds: list[float]


def two_steps(comm: Any, meter: MemoryMeter, step: Callable[[], Any]) -> tuple[Any, ...]:
    """What is kept after two steps, the most that the second one held, and the seconds of each."""
    seconds = []
    for _ in range(2):
        meter.begin()
        comm.barrier()
        start = comm.time()
        step()
        finish(comm.device)
        seconds.append(comm.time() - start)
    comm.barrier()
    return meter.kept, meter.peak, seconds


def data_parallel_memory(comm: Any, size: Size, stage: int) -> Kept:
    """Plain data parallelism, stage 0, and ZeRO's three stages, each with Adam in float32."""
    from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
    from helpers.lessons.sharding.algorithms.memory import FLOAT32_ADAM, memory
    from helpers.lessons.sharding.algorithms.sharding import Sharded
    from helpers.lessons.splitting.experiments.transformer import token_loss

    tokens, targets = size.batch(comm.device, seed=comm.rank)
    meter = MemoryMeter(comm.device)
    model = size.model(comm.device)
    parameters = sum(p.numel() for p in model.parameters())
    if stage == 0:
        replica: Any = DataParallel(model, comm)
        optimizer = torch.optim.Adam(model.parameters())
        end, update = replica.finish, optimizer.step
    else:
        replica = Sharded(model, comm, torch.optim.Adam, stage)
        parameters += replica.padding
        end, update = (lambda: None), replica.step

    def step() -> None:
        token_loss(replica(tokens), targets).backward()
        end()
        update()
        if stage == 0:
            optimizer.zero_grad(set_to_none=False)
        else:
            replica.zero_grad()

    formula = memory(parameters, comm.size, stage, FLOAT32_ADAM).total
    return Kept(formula, *two_steps(comm, meter, step))


def model_parallel_memory(comm: Any, size: Size, way: str) -> Kept:
    """A model cut by layers, a pipeline, or by matrices: a rank holds what belongs to its part.

    way: "GPipe" or "1F1B" for a pipeline, "tensor parallel" for cut matrices.
    """
    from helpers.lessons.pipelines.algorithms import schedules
    from helpers.lessons.pipelines.algorithms.pipeline import Pipeline, cut, microbatches
    from helpers.lessons.sharding.algorithms.memory import FLOAT32_ADAM, memory
    from helpers.lessons.sharding.algorithms.vocabulary_parallel import (
        parallel_transformer,
        vocabulary_cross_entropy,
    )
    from helpers.lessons.splitting.experiments.transformer import token_loss

    tokens, targets = size.batch(comm.device)
    meter = MemoryMeter(comm.device)
    if way == "tensor parallel":
        made = parallel_transformer(size.model("cpu"), comm).to(comm.device)
        whole = sum(p.numel() for p in size.model("meta").parameters())
        parameters, own = whole / comm.size, list(made.parameters())

        def run() -> None:
            loss = vocabulary_cross_entropy(comm, made(tokens), targets, size.vocabulary)
            loss.backward()

    else:
        plan = {"GPipe": schedules.gpipe, "1F1B": schedules.one_forward_one_backward}[way]
        stages = cut(size.model("cpu"), comm.size)
        parameters = sum(p.numel() for p in stages[comm.rank].parameters())
        stages[comm.rank].to(comm.device)
        pipeline = Pipeline(comm, stages, plan, token_loss)
        own = list(pipeline.parameters())
        inputs, wanted = (microbatches(t, size.microbatches) for t in (tokens, targets))

        def run() -> None:
            pipeline.step(inputs, wanted)

    optimizer = torch.optim.Adam(own)

    def step() -> None:
        run()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    return Kept(memory(parameters, 1, 0, FLOAT32_ADAM).total, *two_steps(comm, meter, step))


MEMORIES: dict[str, tuple[Any, ...]] = {
    "data parallel": (data_parallel_memory, 0),
    "sharded, stage 1": (data_parallel_memory, 1),
    "sharded, stage 2": (data_parallel_memory, 2),
    "sharded, stage 3": (data_parallel_memory, 3),
    "tensor parallel": (model_parallel_memory, "tensor parallel"),
    "pipeline, GPipe": (model_parallel_memory, "GPipe"),
    "pipeline, 1F1B": (model_parallel_memory, "1F1B"),
}


def add(report: Report, case: str, name: str, ranks: list[Kept]) -> None:
    """A way's second step, and how far what each rank kept is off the formula."""
    told = []
    for kept in ranks:
        words = f"{kept.formula / 1e6:.4g} MB by formula"
        if kept.measured is not None and kept.peak is not None:
            words += f", {kept.measured / 1e6:.4g} measured, {kept.peak / 1e6:.4g} at the peak"
        told.append(words)
    note = f"each rank: {told[0]}"
    if len(set(told)) > 1:
        note = "; ".join(f"rank {rank}: {words}" for rank, words in enumerate(told))
    report.add(case, name, [max(kept.seconds[-1] for kept in ranks)], note)
    off = [abs(k.measured - k.formula) / k.formula for k in ranks if k.measured is not None]
    if off:
        report.claim(f"memory kept, {name}: off the formula by", max(off), ERROR, False, " of it")


def add_to(report: Report, run: Callable[..., Any], size: Size = SIZE) -> None:
    """Measure every way. run: as `helpers.run`, but None where the ranks fail."""
    for name, (measure, argument) in MEMORIES.items():
        if (kept := run(measure, size, argument)) is not None:
            add(report, f"a step with Adam, {len(kept)} ranks", name, list(kept))
