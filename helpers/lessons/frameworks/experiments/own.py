"""The data parallelism of lesson 03: parameters broadcast, buckets averaged during backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from helpers.lessons.frameworks.experiments import setting

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


def wrap(model: Any, comm: Comm) -> Any:
    """The replica: it is called as the model is, and its `finish()` after every backward."""
    from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel

    return DataParallel(model, comm)


def train_rank(
    comm: Comm, whole: setting.Task, wrap: Callable[[Any, Comm], Any] = wrap
) -> setting.Part:
    """One rank's training. wrap: `wrap(model, comm)` gives the replica."""
    import torch

    from helpers.lessons.frameworks.experiments import in_torch

    model = in_torch.network(setting.weights(comm.rank, whole.widths))
    replica = wrap(model, comm)
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.RATE)
    mine = setting.share(whole, comm.rank, comm.size)
    part = in_torch.train(replica, optimizer, mine, replica.finish)
    return part._replace(weights=in_torch.arrays(model))
