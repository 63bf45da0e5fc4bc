"""torch's DistributedDataParallel, on the process group that is up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.lessons.frameworks.experiments import setting


def wrap(model: Any) -> Any:
    """The replica: making it broadcasts rank 0's parameters, its backward averages gradients."""
    from torch.nn.parallel import DistributedDataParallel

    return DistributedDataParallel(model)


def train_rank(whole: setting.Task, wrap: Callable[[Any], Any] = wrap) -> setting.Part:
    """One rank's training. wrap: `wrap(model)` gives the replica."""
    import torch
    import torch.distributed as dist

    from helpers.lessons.frameworks.experiments import in_torch

    rank, size = dist.get_rank(), dist.get_world_size()
    model = in_torch.network(setting.weights(rank, whole.widths))
    replica = wrap(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.RATE)
    part = in_torch.train(replica, optimizer, setting.share(whole, rank, size))
    return part._replace(weights=in_torch.arrays(model))
