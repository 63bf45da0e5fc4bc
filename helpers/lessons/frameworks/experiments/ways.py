"""The same training in every framework: `train(way, ranks)` on processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers.lessons.frameworks.experiments import setting

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


@dataclass(frozen=True)
class Way:
    """One way to train. framework: of `helpers.run`. pieces: what `train` takes for it.

    processes: whether each replica has a process of its own; otherwise one process has them all.
    """

    name: str
    framework: str
    pieces: tuple[str, ...]
    processes: bool = True


WAYS = {
    way.name: way
    for way in (
        Way("own", "torch", ("wrap",)),
        Way("torch DDP", "torch", ("wrap",)),
        Way("mirrored", "tensorflow", (), processes=False),
        Way("mirrored loop", "tensorflow", ("step",), processes=False),
        Way("multi-worker", "tensorflow", ()),
        Way("multi-worker loop", "tensorflow", ("step",)),
        Way("horovod torch", "horovod", ("prepare",)),
        Way("horovod tape", "horovod", ("tape_step",)),
        Way("horovod keras", "horovod", ("wrap", "callbacks")),
    )
}


@dataclass(frozen=True)
class Run:
    """A training that has ended.

    losses: of each step, the mean over the rows of all ranks. weights: rank 0's at the end, in
    torch's layout. apart: the largest difference between its weights and another rank's.
    seconds: that the steps took on rank 0, compiling included. notes: of each rank.
    """

    way: str
    ranks: int
    losses: list[float]
    weights: list[np.ndarray]
    apart: float
    seconds: float
    notes: list[dict[str, Any]]

    def from_alone(self) -> float:
        """The largest difference from the weights of the run in one process."""
        from helpers.lessons.frameworks.experiments.alone import train_alone

        return setting.furthest(self.weights, train_alone(len(self.losses)).weights)


def train(way: str, ranks: int = 2, steps: int = 50, timeout: float = 60.0, **pieces: Any) -> Run:
    """Train one way; every rank starts from random weights of its own, rank 0 from the setting's.

    way: a name in `WAYS`. ranks: among which 60 rows divide evenly. pieces: functions of one's own
    in the place of the course's; `WAYS[way].pieces` names them.
    Raises what `helpers.run` raises; ValueError and TypeError for what is not there.

    Example: `train("horovod torch", ranks=3).from_alone()` is below 1e-5.
    """
    from helpers.engine.run import run

    known = find(way)
    for name in pieces:
        if name not in known.pieces:
            names = " and ".join(known.pieces) or "no piece"
            raise TypeError(f"The way {way!r} takes {names} of one's own, not {name!r}.")
    whole = setting.task(steps)
    setting.share(whole, 0, ranks)
    results = run(
        run_rank,
        way,
        whole,
        ranks,
        pieces,
        ranks=ranks if known.processes else 1,
        framework=known.framework,
        timeout=timeout,
        device="cpu",
    )
    parts: list[setting.Part] = [part for value in results for part in value]
    losses = np.mean([part.losses for part in parts], axis=0)
    return Run(
        way,
        ranks,
        [float(loss) for loss in losses],
        parts[0].weights,
        max(setting.furthest(parts[0].weights, part.weights) for part in parts),
        parts[0].seconds,
        [part.notes for part in parts],
    )


def find(way: str) -> Way:
    """The way of that name. Raises ValueError where there is none."""
    if way not in WAYS:
        raise ValueError(f"There is no way {way!r}; there are {', '.join(WAYS)}.")
    return WAYS[way]


def run_rank(
    comm: Comm, way: str, whole: setting.Task, replicas: int, pieces: dict[str, Any]
) -> list[setting.Part]:
    """What each process of a run does."""
    from helpers.lessons.frameworks.experiments import (
        horovod_keras,
        horovod_tape,
        horovod_torch,
        mirrored,
        multi_worker,
        own,
        torch_ddp,
    )

    os.environ["TF_USE_LEGACY_KERAS"] = "1"  # Horovod looks for Keras 2 in tf.keras
    if way in ("horovod tape", "horovod keras"):
        start_horovod()
    if way == "own":
        return [own.train_rank(comm, whole, **pieces)]
    one: dict[str, Callable[..., setting.Part]] = {
        "torch DDP": torch_ddp.train_rank,
        "multi-worker": multi_worker.train_fit,
        "multi-worker loop": multi_worker.train_loop,
        "horovod torch": horovod_torch.train_rank,
        "horovod tape": horovod_tape.train_rank,
        "horovod keras": horovod_keras.train_rank,
    }
    if way in one:
        return [one[way](whole, **pieces)]
    return {"mirrored": mirrored.train_fit, "mirrored loop": mirrored.train_loop}[way](
        whole, replicas, **pieces
    )


def start_horovod() -> None:
    """Bring the world of Horovod's TensorFlow binding up, beside that of its torch binding.

    Horovod asks the binding that was set up last for the number of ranks.
    """
    import horovod.tensorflow as hvd
    from horovod.common import process_sets
    from horovod.tensorflow.mpi_ops import _basics

    process_sets._setup(_basics)
    hvd.init()
