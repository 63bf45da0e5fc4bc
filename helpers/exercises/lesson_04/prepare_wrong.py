"""The reference of exercise 04.1, and answers with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(hvd: Any, model: Any, optimizer: Any) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.framework_steps import prepare

    return prepare(hvd, model, optimizer)


def no_broadcast(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Replicas start different."""
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())


def half(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Sends the weights and forgets the biases."""
    weights = [(n, p) for n, p in model.named_parameters() if n.endswith("weight")]
    hvd.broadcast_parameters(weights, root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())


def no_state(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Sends the parameters alone."""
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())


def divides_again(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Divides each gradient by the number of ranks, though the optimizer averages."""
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: gradient / hvd.size())
    return _started(hvd, model, optimizer)


def by_hand(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Averages each gradient when it is there, and once more in the optimizer."""
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: hvd.allreduce(gradient))
    return _started(hvd, model, optimizer)


def divides_rate(hvd: Any, model: Any, optimizer: Any) -> Any:
    """A shorter step for more ranks."""
    found = _started(hvd, model, optimizer)
    for group in found.param_groups:
        group["lr"] /= hvd.size()
    return found


def multiplies_rate(hvd: Any, model: Any, optimizer: Any) -> Any:
    """A longer step for more ranks."""
    found = _started(hvd, model, optimizer)
    for group in found.param_groups:
        group["lr"] *= hvd.size()
    return found


def sums(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Adds gradients up."""
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return hvd.DistributedOptimizer(optimizer, model.named_parameters(), op=hvd.Sum)


def not_returned(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Makes the optimizer and drops it."""
    optimizer = _started(hvd, model, optimizer)


def the_given(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Returns the optimizer that it was given."""
    _started(hvd, model, optimizer)
    return optimizer


def last_root(hvd: Any, model: Any, optimizer: Any) -> Any:
    """The last rank's weights for all."""
    return _started(hvd, model, optimizer, hvd.size() - 1)


def own_root(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Every rank gives its own."""
    return _started(hvd, model, optimizer, hvd.rank())


def rank_0_alone(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Rank 0 sends and nobody receives."""
    if hvd.rank() == 0:
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())


def mean_start(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Makes the ranks equal, at their mean."""
    for parameter in model.parameters():
        hvd.allreduce_(parameter.data)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())


def new_optimizer(hvd: Any, model: Any, optimizer: Any) -> Any:
    """A new one that knows the learning rate alone."""
    import torch

    _started(hvd, model, optimizer)
    fresh = torch.optim.SGD(model.parameters(), lr=optimizer.param_groups[0]["lr"])
    return hvd.DistributedOptimizer(fresh, named_parameters=model.named_parameters())


def in_16_bits(hvd: Any, model: Any, optimizer: Any) -> Any:
    """Saves half of the bytes, and digits."""
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return hvd.DistributedOptimizer(
        optimizer, model.named_parameters(), compression=hvd.Compression.fp16
    )


def _started(hvd: Any, model: Any, optimizer: Any, root: int = 0) -> Any:
    hvd.broadcast_parameters(model.state_dict(), root_rank=root)
    hvd.broadcast_optimizer_state(optimizer, root_rank=root)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
