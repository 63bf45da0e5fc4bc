"""The same training in every framework: `train(way, ranks)` on processes of this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from helpers.lessons.frameworks.experiments import setting

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


class Way(NamedTuple):
    """One way to train. framework: of `helpers.run`. pieces: what `train` takes for it.

    processes: whether each replica has a process of its own; otherwise one process has them all.
    """

    framework: str
    pieces: tuple[str, ...]
    processes: bool = True


WAYS = {
    "own": Way("torch", ("wrap",)),
    "torch DDP": Way("torch", ("wrap",)),
    "mirrored": Way("tensorflow", (), processes=False),
    "mirrored loop": Way("tensorflow", ("step",), processes=False),
    "multi-worker": Way("tensorflow", ()),
    "multi-worker loop": Way("tensorflow", ("step",)),
    "horovod torch": Way("horovod", ("prepare",)),
    "horovod tape": Way("horovod", ("tape_step",)),
    "horovod keras": Way("horovod", ("wrap", "callbacks")),
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
    return run(
        job,
        way,
        whole,
        ranks,
        pieces,
        ranks=ranks if known.processes else 1,
        framework=known.framework,
        timeout=60,
        device="cpu",
    )


def run_rank(
    comm: Comm, way: str, whole: setting.Task, replicas: int, pieces: dict[str, Any]
) -> list[setting.Part]:
    """What each process of a run does."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"  # Horovod looks for Keras 2 in tf.keras
    if way in ("own", "torch DDP", "horovod torch"):
        from helpers.lessons.frameworks.experiments import in_torch

        if way == "own":
            return [in_torch.own(comm, whole, **pieces)]
        train_rank = in_torch.ddp if way == "torch DDP" else in_torch.horovod
        return [train_rank(whole, **pieces)]
    if way in ("horovod tape", "horovod keras"):
        from helpers.lessons.frameworks.experiments import horovod_tf

        start_horovod()
        one = horovod_tf.tape if way == "horovod tape" else horovod_tf.keras
        return [one(whole, **pieces)]
    from helpers.lessons.frameworks.experiments import strategies

    if way in ("mirrored", "mirrored loop"):
        every = strategies.mirrored if way == "mirrored" else strategies.mirrored_loop
        return every(whole, replicas, **pieces)
    worker = strategies.multi_worker if way == "multi-worker" else strategies.multi_worker_loop
    return [worker(whole, **pieces)]


def start_horovod() -> None:
    """Bring the world of Horovod's TensorFlow binding up, beside that of its torch binding.

    Horovod asks the binding that was set up last for the number of ranks.
    """
    import horovod.tensorflow as hvd
    from horovod.common import process_sets
    from horovod.tensorflow.mpi_ops import _basics

    process_sets._setup(_basics)
    hvd.init()
