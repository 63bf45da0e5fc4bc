"""Horovod with torch: an optimizer that averages gradients before it steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.lessons.frameworks.algorithms.framework_steps import prepare
from helpers.lessons.frameworks.experiments import setting


def train_rank(
    whole: setting.Task, prepare: Callable[[Any, Any, Any], Any] = prepare
) -> setting.Part:
    """One rank's training. prepare: `prepare(hvd, model, optimizer)` gives the optimizer.

    Horovod's torch binding is up (`hvd.init()`).
    """
    import horovod.torch as hvd
    import torch

    from helpers.lessons.frameworks.experiments import in_torch

    model = in_torch.network(setting.weights(hvd.rank(), whole.widths))
    optimizer = prepare(hvd, model, torch.optim.SGD(model.parameters(), lr=setting.RATE))
    part = in_torch.train(model, optimizer, setting.share(whole, hvd.rank(), hvd.size()))
    return part._replace(weights=in_torch.arrays(model))
