"""Wrong answers to exercise 04.1: the reference with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any


def _changed(
    root: Callable[[Any], int] = lambda hvd: 0,
    sent: Callable[[Any], Any] = lambda tensors: tensors,
    state: Callable[[Any], Any] = lambda optimizer: optimizer,
    hook: Callable[[Any, Any], Any] | None = None,
    options: Callable[[Any], Mapping[str, Any]] = lambda hvd: {},
    end: Callable[..., Any] = lambda hvd, model, made, given: made,
) -> Callable[..., Any]:
    """The reference with one thing changed; what is sent into copies is not taken. sent, state: of
    what is given to the broadcasts. hook: what becomes of a parameter's gradient. end: what is
    returned, of the wrapped optimizer and of the one that was given."""

    def prepare(hvd: Any, model: Any, optimizer: Any) -> Any:
        for parameter in model.parameters() if hook else ():
            parameter.register_hook(lambda gradient: hook and hook(hvd, gradient))
        hvd.broadcast_parameters(sent(model.state_dict()), root_rank=root(hvd))
        hvd.broadcast_optimizer_state(state(optimizer), root_rank=root(hvd))
        made = hvd.DistributedOptimizer(optimizer, model.named_parameters(), **options(hvd))
        return end(hvd, model, made, optimizer)

    return prepare


def _with_rate(change: Callable[[float, int], float]) -> Callable[..., Any]:
    def end(hvd: Any, model: Any, made: Any, given: Any) -> Any:
        for group in made.param_groups:
            group["lr"] = change(group["lr"], hvd.size())
        return made

    return end


def _fresh(hvd: Any, model: Any, made: Any, given: Any) -> Any:
    import torch

    fresh = torch.optim.SGD(model.parameters(), lr=given.param_groups[0]["lr"])
    return hvd.DistributedOptimizer(fresh, model.named_parameters())


def _apart(tensors: Mapping[str, Any], end: str) -> dict[str, Any]:
    return {name: t.clone() if name.endswith(end) else t for name, t in tensors.items()}


no_broadcast = _changed(sent=deepcopy)
half = _changed(sent=lambda tensors: _apart(tensors, "bias"))
parameters_alone = _changed(sent=lambda tensors: _apart(tensors, "mean"))
no_state = _changed(state=deepcopy)
last_root = _changed(root=lambda hvd: hvd.size() - 1)
own_root = _changed(root=lambda hvd: hvd.rank())
divides_again = _changed(hook=lambda hvd, gradient: gradient / hvd.size())
by_hand = _changed(hook=lambda hvd, gradient: hvd.allreduce(gradient))
divides_rate = _changed(end=_with_rate(lambda rate, n: rate / n))
multiplies_rate = _changed(end=_with_rate(lambda rate, n: rate * n))
sums = _changed(options=lambda hvd: {"op": hvd.Sum})
in_16_bits = _changed(options=lambda hvd: {"compression": hvd.Compression.fp16})
new_optimizer = _changed(end=_fresh)
not_returned = _changed(end=lambda hvd, model, made, given: None)
the_given = _changed(end=lambda hvd, model, made, given: given)


def rate_alone(hvd: Any, model: Any, optimizer: Any) -> Any:
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    for group in optimizer.param_groups:
        group["lr"] = hvd.broadcast_object(group["lr"], root_rank=0)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())


def rank_0_alone(hvd: Any, model: Any, optimizer: Any) -> Any:
    if hvd.rank() == 0:
        return _changed()(hvd, model, optimizer)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())


def mean_start(hvd: Any, model: Any, optimizer: Any) -> Any:
    for parameter in model.parameters():
        hvd.allreduce_(parameter.data)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    return hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
