"""The few lines that a program of one's own adds for each framework.

`hvd` is Horovod's module for the framework at hand (`horovod.torch`, `horovod.tensorflow`), or
anything with its calls. Sources: Sergeev and Del Balso, "Horovod: fast and easy distributed deep
learning in TensorFlow" (2018), section 4; TensorFlow's guide "Custom training with tf.distribute".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any


def prepare(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Make every rank equal to rank 0; the optimizer returned averages gradients in each step.

    model, optimizer: of torch, each rank's own. hvd: `horovod.torch`.
    """
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())


def tape_step(
    hvd: Any, model: Any, optimizer: Any, loss: Any, inputs: Any, targets: Any, first: bool
) -> Any:
    """One step with a gradient tape; the first one begins from rank 0's variables.

    loss: `loss(targets, outputs)`, the mean over this rank's rows. hvd: `horovod.tensorflow`.
    Returns: this rank's loss. The variables are sent *before* the first gradient: afterwards, as
    Horovod's own examples do it, the first average is one of gradients at different weights.
    """
    import tensorflow as tf

    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)
        hvd.broadcast_variables(optimizer.variables, root_rank=0)
    with tf.GradientTape() as tape:
        value = loss(targets, model(inputs))
    gradients = hvd.DistributedGradientTape(tape).gradient(value, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return value


def replica_step(
    model: Any, optimizer: Any, losses: Any, inputs: Any, targets: Any, global_batch: int
) -> Any:
    """One replica's part of a step, inside `strategy.run`.

    losses: `losses(targets, outputs)`, one for each of this replica's rows. global_batch: the rows
    of all replicas. Returns: this replica's part of the mean loss; the parts add up to it, and the
    strategy adds up the gradients too.
    """
    import tensorflow as tf

    with tf.GradientTape() as tape:
        part = tf.reduce_sum(losses(targets, model(inputs))) / global_batch
    gradients = tape.gradient(part, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return part


def average_metric(hvd: Any, value: float, rows: int) -> float:
    """The mean over all ranks' rows of a metric that each rank has as a mean over its own."""
    import torch

    mine = torch.tensor([value * rows, rows], dtype=torch.float64)
    total, everybody = hvd.allreduce(mine, op=hvd.Sum, name="metric").tolist()
    return float(total / everybody)


def resume(hvd: Any, model: Any, optimizer: Any, load: Callable[[], dict[str, Any]]) -> int:
    """Go on from a checkpoint that rank 0 alone can read; returns the step that it was made after.

    load: gives {"model": a state dict, "optimizer": a state dict, "step": a number}.
    """
    step = 0
    if hvd.rank() == 0:
        saved = load()
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return int(hvd.broadcast_object(step, root_rank=0))


def who_am_i(environment: Mapping[str, str]) -> tuple[int, int]:
    """This process's rank and the world size, as torchrun, horovodrun or TF_CONFIG tell them.

    Without any of them the process is alone: (0, 1). With TF_CONFIG a chief counts as the first of
    the workers; parameter servers and evaluators are no ranks.
    """
    for rank, size in (("RANK", "WORLD_SIZE"), ("HOROVOD_RANK", "HOROVOD_SIZE")):
        if rank in environment:
            return int(environment[rank]), int(environment[size])
    if "TF_CONFIG" not in environment:
        return 0, 1
    config = json.loads(environment["TF_CONFIG"])
    chiefs, workers = (len(config["cluster"].get(kind, ())) for kind in ("chief", "worker"))
    task = config["task"]
    return task["index"] + (chiefs if task["type"] == "worker" else 0), chiefs + workers
