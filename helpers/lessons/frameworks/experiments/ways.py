"""The same training in every framework: `train(way, ranks)` on processes of this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from helpers.lessons.frameworks.experiments import setting

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


class Way(NamedTuple):
    """One way to train. framework: of `helpers.run`. pieces: what `train` takes for it.

    module, function: of this folder, what a process of it does. processes: whether each replica has
    a process of its own; otherwise one process has them all.
    """

    framework: str
    module: str
    function: str
    pieces: tuple[str, ...]
    processes: bool = True


WAYS = {
    "own": Way("torch", "in_torch", "own", ("wrap",)),
    "torch DDP": Way("torch", "in_torch", "ddp", ("wrap",)),
    "mirrored": Way("tensorflow", "strategies", "mirrored", (), processes=False),
    "mirrored loop": Way("tensorflow", "strategies", "mirrored_loop", ("step",), processes=False),
    "multi-worker": Way("tensorflow", "strategies", "multi_worker", ()),
    "multi-worker loop": Way("tensorflow", "strategies", "multi_worker_loop", ("step",)),
    "horovod torch": Way("horovod", "in_torch", "horovod", ("prepare",)),
    "horovod tape": Way("horovod", "horovod_tf", "tape", ("tape_step",)),
    "horovod keras": Way("horovod", "horovod_tf", "keras", ("wrap", "callbacks")),
}


@dataclass(frozen=True)
class Run:
    """A training that has ended.

    losses: of each step, the mean over the rows of all ranks. weights: rank 0's at the end, in
    torch's layout. apart: the largest difference between its weights and another rank's. notes: of
    each rank.
    """

    losses: list[float]
    weights: list[np.ndarray]
    apart: float
    notes: list[dict[str, Any]]

    def from_alone(self) -> float:
        """The largest difference from the weights of the run in one process."""
        from helpers.lessons.frameworks.experiments.in_torch import train_alone

        return setting.furthest(self.weights, train_alone(len(self.losses)).weights)


def train(way: str, ranks: int = 2, steps: int = 50, **pieces: Any) -> Run:
    """Train one way; every rank starts from random weights of its own, rank 0 from the setting's.

    way: a name in `WAYS`. ranks: among which 60 rows divide evenly. pieces: functions of one's own
    in the place of the course's; `WAYS[way].pieces` names them.
    Raises what `helpers.run` raises; ValueError and TypeError for what is not there.

    Example: `train("horovod torch", ranks=3).from_alone()` is below 1e-5.
    """
    for name in pieces:
        if name not in find(way).pieces:
            names = " and ".join(find(way).pieces) or "no piece"
            raise TypeError(f"The way {way!r} takes {names} of one's own, not {name!r}.")
    results = on_ranks(run_rank, way, setting.task(steps), ranks, pieces)
    parts: list[setting.Part] = [part for value in results for part in value]
    losses = np.mean([part.losses for part in parts], axis=0)
    return Run(
        [float(loss) for loss in losses],
        parts[0].weights,
        max(setting.furthest(parts[0].weights, part.weights) for part in parts),
        [part.notes for part in parts],
    )


def find(way: str) -> Way:
    """The way of that name. Raises ValueError where there is none."""
    if way not in WAYS:
        raise ValueError(f"There is no way {way!r}; there are {', '.join(WAYS)}.")
    return WAYS[way]


def on_ranks(job: Any, way: str, whole: setting.Task, ranks: int, pieces: dict[str, Any]) -> Any:
    """Run job(comm, way, whole, ranks, pieces) in the processes that a way has."""
    from helpers.engine.run import run

    known = find(way)
    setting.share(whole, 0, ranks)  # where the rows do not divide, no process starts
    options: dict[str, Any] = {"framework": known.framework, "timeout": 60, "device": "cpu"}
    processes = ranks if known.processes else 1
    return run(job, way, whole, ranks, pieces, ranks=processes, **options)


def run_rank(
    comm: Comm, way: str, whole: setting.Task, replicas: int, pieces: dict[str, Any]
) -> list[setting.Part]:
    """What each process of a run does."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"  # Horovod looks for Keras 2 in tf.keras
    known = find(way)
    train_here = getattr(import_module(f"{__package__}.{known.module}"), known.function)
    if known.module == "horovod_tf":
        start_horovod()
    if not known.processes:
        every: list[setting.Part] = train_here(whole, replicas, **pieces)
        return every
    given = (comm, whole) if way == "own" else (whole,)
    return [train_here(*given, **pieces)]


def start_horovod() -> None:
    """Bring the world of Horovod's TensorFlow binding up, beside that of its torch binding.

    Horovod asks the binding that was set up last for the number of ranks.
    """
    import horovod.tensorflow as hvd
    from horovod.common import process_sets
    from horovod.tensorflow.mpi_ops import _basics

    process_sets._setup(_basics)
    hvd.init()
