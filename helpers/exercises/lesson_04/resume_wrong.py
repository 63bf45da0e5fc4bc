"""The reference of exercise 04.5, and answers with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.framework_steps import resume

    return resume(hvd, model, optimizer, load)


def _load(hvd: Any, model: Any, optimizer: Any, load: Any, state: bool = True) -> int:
    """On rank 0 alone; 0 elsewhere."""
    if hvd.rank():
        return 0
    saved = load()
    model.load_state_dict(saved["model"])
    if state:
        optimizer.load_state_dict(saved["optimizer"])
    return int(saved["step"])


def _send(hvd: Any, model: Any, optimizer: Any, root: int = 0) -> None:
    hvd.broadcast_parameters(model.state_dict(), root_rank=root)
    hvd.broadcast_optimizer_state(optimizer, root_rank=root)


def all_load(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """Every rank reads the file."""
    saved = load()
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["step"]


def local_ranks(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """The first rank of each machine reads the file."""
    step = 0
    if hvd.local_rank() == 0:
        saved = load()
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step = saved["step"]
    _send(hvd, model, optimizer)
    return hvd.broadcast_object(step, root_rank=0)


def no_broadcast(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """Rank 0 loads, and the step is all that it tells."""
    step = _load(hvd, model, optimizer, load)
    return hvd.broadcast_object(step, root_rank=0)


def sends_first(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """The wrong way round."""
    _send(hvd, model, optimizer)
    return hvd.broadcast_object(_load(hvd, model, optimizer, load), root_rank=0)


def no_state(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """Weights and step, no momenta."""
    step = _load(hvd, model, optimizer, load)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    return hvd.broadcast_object(step, root_rank=0)


def not_loaded(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """Sends an optimizer that is fresh."""
    step = _load(hvd, model, optimizer, load, state=False)
    _send(hvd, model, optimizer)
    return hvd.broadcast_object(step, root_rank=0)


def no_step(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """Every rank returns what it knows."""
    step = _load(hvd, model, optimizer, load)
    _send(hvd, model, optimizer)
    return step


def averaged(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """Sends the step as one averages a metric."""
    import torch

    step = _load(hvd, model, optimizer, load)
    _send(hvd, model, optimizer)
    return int(hvd.allreduce(torch.tensor(step)))


def loads_often(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """Reads the file for each thing in it."""
    step = 0
    if hvd.rank() == 0:
        model.load_state_dict(load()["model"])
        optimizer.load_state_dict(load()["optimizer"])
        step = load()["step"]
    _send(hvd, model, optimizer)
    return hvd.broadcast_object(step, root_rank=0)


def last_root(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """The last rank's weights for all."""
    step = _load(hvd, model, optimizer, load)
    _send(hvd, model, optimizer, hvd.size() - 1)
    return hvd.broadcast_object(step, root_rank=0)


def rank_0_alone(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """Sends where it loads."""
    step = _load(hvd, model, optimizer, load)
    if hvd.rank() == 0:
        _send(hvd, model, optimizer)
    return hvd.broadcast_object(step, root_rank=0)


def no_value(hvd: Any, model: Any, optimizer: Any, load: Any) -> Any:
    """Forgets the step."""
    _load(hvd, model, optimizer, load)
    _send(hvd, model, optimizer)
