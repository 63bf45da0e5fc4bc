"""The network and the training loop in torch, and four ways over it: alone, ours, DDP, Horovod."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
from helpers.lessons.frameworks.algorithms.framework_steps import prepare
from helpers.lessons.frameworks.experiments import setting

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


def network(arrays: Sequence[np.ndarray]) -> nn.Sequential:
    """Linear layers with tanh between them, with these weights: a matrix, a bias, a matrix, ….

    Example: `network(setting.weights())` has 64 inputs, 32 hidden units and 10 outputs.
    """
    layers: list[nn.Module] = []
    for matrix in arrays[::2]:
        layers += [nn.Linear(matrix.shape[1], matrix.shape[0]), nn.Tanh()]
    model = nn.Sequential(*layers[:-1])
    with torch.no_grad():
        for parameter, array in zip(model.parameters(), arrays, strict=True):
            parameter.copy_(torch.from_numpy(array))
    return model


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    """Plain SGD at the setting's rate."""
    return torch.optim.SGD(model.parameters(), lr=setting.RATE)


def train(
    model: nn.Module,
    replica: Callable[[torch.Tensor], torch.Tensor],
    optimizer: torch.optim.Optimizer,
    mine: setting.Task,
    after_backward: Callable[[], None] = lambda: None,
) -> setting.Part:
    """The plain training loop over a rank's rows. replica: what is called in the model's place."""
    losses, start = [], time.perf_counter()
    for inputs, targets in zip(torch.from_numpy(mine.x), torch.from_numpy(mine.y), strict=True):
        optimizer.zero_grad()
        loss = cross_entropy(replica(inputs), targets)
        loss.backward()
        after_backward()
        optimizer.step()
        losses.append(loss.item())
    seconds = time.perf_counter() - start
    weights = [parameter.detach().cpu().numpy().copy() for parameter in model.parameters()]
    return setting.Part(losses, weights, seconds, {})


def train_alone(steps: int = 50) -> setting.Part:
    """The run that all others are held to: one process, all rows."""
    model = network(setting.weights())
    return train(model, model, sgd(model), setting.task(steps))


def own(
    comm: Comm, whole: setting.Task, wrap: Callable[[Any, Comm], Any] = DataParallel
) -> setting.Part:
    """One rank of ours. wrap: gives the replica, whose `finish()` comes after every backward."""
    model = network(setting.weights(comm.rank, whole.widths))
    replica = wrap(model, comm)
    mine = setting.share(whole, comm.rank, comm.size)
    return train(model, replica, sgd(model), mine, replica.finish)


def ddp(
    whole: setting.Task, wrap: Callable[[Any], Any] = nn.parallel.DistributedDataParallel
) -> setting.Part:
    """One rank of torch's DistributedDataParallel, on the process group that is up.

    wrap: gives the replica: making it broadcasts rank 0's parameters, its backward averages.
    """
    import torch.distributed as dist

    rank, size = dist.get_rank(), dist.get_world_size()
    model = network(setting.weights(rank, whole.widths))
    return train(model, wrap(model), sgd(model), setting.share(whole, rank, size))


def horovod(whole: setting.Task, prepare: Callable[[Any, Any, Any], Any] = prepare) -> setting.Part:
    """One rank of Horovod, whose torch binding is up (`hvd.init()`).

    prepare: `prepare(hvd, model, optimizer)` gives the optimizer.
    """
    import horovod.torch as hvd

    model = network(setting.weights(hvd.rank(), whole.widths))
    optimizer = prepare(hvd, model, sgd(model))
    return train(model, model, optimizer, setting.share(whole, hvd.rank(), hvd.size()))
