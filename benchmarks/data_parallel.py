"""A training step with the data parallelism of lesson 03 beside torch DDP's and Horovod's.

After these come pipelines, tensor parallelism and sharding beside torch's (`model_parallel.py`).
Every contender trains a copy of the same model on the same rows, on the same ranks, in turn. A
step is zero_grad, forward, loss, backward, averaging, and SGD's update; its time is that of the
slowest rank.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import helpers
from benchmarks import goals, model_parallel
from benchmarks.report import Report, ratio, slowest
from helpers.notebook.measure import in_turn

RANKS = (2, 4)
REPEATS = 21
ROWS = 32  # of each rank's shard
RATE = 0.01
WAYS = {
    "ring": goals.STEP,
    "gloo's all-reduce": goals.STEP,
    "shared memory": goals.SHARED_STEP,
}
"""How ours sums up gradients, and what that is held against beside DDP."""
DDP = "torch DDP"
DDP_VIEWS = "torch DDP, gradient_as_bucket_view"


class Trainer:
    """Builds contenders that all start from the same model and see the same rows."""

    def __init__(self, comm: Any) -> None:
        import torch

        from helpers.lessons.data_parallel.experiments.digits import digits

        data = digits()
        first = comm.rank * ROWS
        self.comm = comm
        self.x, self.y = data.train_x[first : first + ROWS], data.train_y[first : first + ROWS]
        self.loss = torch.nn.functional.cross_entropy
        self.models: dict[str, Any] = {}

    def model(self, name: str) -> Any:
        """A new copy of the model, kept under a name for the comparison at the end."""
        from helpers.lessons.data_parallel.experiments.models import wide_mlp

        self.models[name] = wide_mlp()
        return self.models[name]

    def step(
        self, forward: Any, optimizer: Any, finish: Callable[[], object] = lambda: None
    ) -> Callable[[], None]:
        """One training step, as a function to be timed."""

        def run() -> None:
            optimizer.zero_grad()
            self.loss(forward(self.x), self.y).backward()
            finish()
            optimizer.step()

        return run

    def ours(self, name: str, *reduce: Any, **options: Any) -> Callable[[], None]:
        """A step with the course's DataParallel."""
        import torch

        from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel

        model = self.model(name)
        replica = DataParallel(model, self.comm, *reduce, **options)
        optimizer = torch.optim.SGD(model.parameters(), RATE)
        return self.step(replica, optimizer, replica.finish)

    def ddp(self, name: str, **options: Any) -> Callable[[], None]:
        """A step with torch's DistributedDataParallel."""
        import torch

        model = self.model(name)
        wrapped = torch.nn.parallel.DistributedDataParallel(model, **options)
        return self.step(wrapped, torch.optim.SGD(model.parameters(), RATE))

    def horovod(self, name: str) -> Callable[[], None]:
        """A step with Horovod's DistributedOptimizer."""
        import horovod.torch as hvd
        import torch

        model = self.model(name)
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD(model.parameters(), RATE), named_parameters=model.named_parameters()
        )
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        return self.step(model, optimizer)

    def largest_difference(self) -> float:
        """How far any two contenders' weights are apart after the same number of steps."""
        first, *others = [list(model.parameters()) for model in self.models.values()]
        return max(
            (a - b).abs().max().item()
            for other in others
            for a, b in zip(first, other, strict=True)
        )


def our_contenders(trainer: Trainer) -> dict[str, Callable[[], None]]:
    """The course's DataParallel, with each way to sum that lesson 03 has."""
    import torch.distributed as dist

    from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, all_reduce_shared

    def start(bucket: Any) -> Any:
        return dist.all_reduce(bucket, async_op=True)

    return {
        "ours, ring": trainer.ours("ours, ring", all_reduce_ring),
        "ours, gloo's all-reduce": trainer.ours("ours, gloo's all-reduce", start=start),
        "ours, shared memory": trainer.ours("ours, shared memory", all_reduce_shared),
    }


def beside_ddp(comm: Any) -> tuple[dict[str, list[float]], float]:
    """Ours and torch DDP, over gloo. Returns the seconds, and how far the weights are apart."""
    trainer = Trainer(comm)
    contenders = {
        DDP: trainer.ddp(DDP),
        DDP_VIEWS: trainer.ddp(DDP_VIEWS, gradient_as_bucket_view=True),
        **our_contenders(trainer),
    }
    return in_turn(comm, contenders, REPEATS), trainer.largest_difference()


def beside_horovod(comm: Any, rendezvous: str) -> tuple[dict[str, list[float]], float]:
    """Ours and Horovod, on Horovod's ranks, with a gloo group there as well."""
    import os
    import sys

    import torch.distributed as dist

    os.environ["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
    dist.init_process_group(
        "gloo", init_method=f"file://{rendezvous}", rank=comm.rank, world_size=comm.size
    )
    trainer = Trainer(comm)
    contenders = {"Horovod": trainer.horovod("Horovod"), **our_contenders(trainer)}
    return in_turn(comm, contenders, REPEATS), trainer.largest_difference()


def add(report: Report, case: str, results: Any, peer: str) -> dict[str, list[float]]:
    """Put a run's times into the report, each beside the peer's. Returns them."""
    if not all(apart < 1e-4 for _, apart in results):
        raise RuntimeError(f"The contenders' weights are {results[0][1]} apart; they should agree.")
    times = slowest([seconds for seconds, _ in results])
    for name, seconds in times.items():
        relative = ratio(seconds, times[peer])
        report.add(case, name, seconds, f"{relative:.2f}× {peer}" if name != peer else "")
    return times


def measure() -> Report:
    """Steps beside torch DDP, then beside Horovod, at each number of ranks."""
    from helpers.lessons.data_parallel.experiments.models import wide_mlp

    megabytes = sum(p.nbytes for p in wide_mlp().parameters()) / 1e6
    report = Report(
        "data-parallel",
        f"A training step with {megabytes:.0f} MB of gradients and {ROWS} rows a rank",
    )
    for ranks in RANKS:
        case = f"{ranks} ranks"
        times = add(
            report, case, helpers.run(beside_ddp, ranks=ranks, timeout=300, show=False), DDP
        )
        quickest = DDP if ratio(times[DDP], times[DDP_VIEWS]) < 1 else DDP_VIEWS
        for name, goal in WAYS.items():
            value = ratio(times[f"ours, {name}"], times[quickest])
            report.hold(goal, f"{name}, of {quickest}'s step, {case}", value)
        measure_horovod(report, ranks)
    model_parallel.add_to(report)
    return report


def measure_horovod(report: Report, ranks: int) -> None:
    """Steps beside Horovod's, where Horovod is installed."""
    if find_spec("horovod") is None:
        report.notes.append("Horovod is not installed here, so it is left out.")
        return
    case = f"{ranks} Horovod ranks"
    with tempfile.TemporaryDirectory() as folder:
        rendezvous = str(Path(folder) / "rendezvous")
        results = helpers.run(
            beside_horovod, rendezvous, ranks=ranks, framework="horovod", timeout=300, show=False
        )
    times = add(report, case, results, "Horovod")
    for name in WAYS:
        value = ratio(times[f"ours, {name}"], times["Horovod"])
        report.hold(goals.HOROVOD_STEP, f"{name}, of Horovod's step, {case}", value)
