"""Drivers for lesson 04: a few training steps with what a learner's function prepares.

Weights are lists [W₁, b₁, W₂, b₂, …] in torch's layout, float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.exercises.drives.calling import Elsewhere, Function, at_hand, made, there
from helpers.exercises.drives.frameworks import OfTorch
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.training import network
from helpers.exercises.drives.values import Made, Remote
from helpers.exercises.random_states import seed_there

MOMENTUM = 0.9  # of the optimizer that a checkpoint is of
BACKWARD = 2e-4  # seconds of a forward and a backward on the virtual clock


def _on_prepare(
    fn: Function,
    comm: Any,
    weights: list[Tensor],
    buffer: Tensor,
    rate: float,
    momentum: float,
    inputs: Tensor,
    targets: Tensor,
) -> Any:
    """`fn(hvd, model, optimizer)`, then a step for each of this rank's batches.

    A rank's arguments: its weights, its model's buffer, learning rate and momentum, inputs (steps,
    rows, width) and targets. `values[rank]`: start and buffer, weights after each step; and what is
    only read for a hint, returned, rates and momentum after the call. The gradients are computed by
    who drives; the weights are its own, too.
    """
    differ(fn, comm.rank)
    model = network(weights)
    there(fn, give_buffer, model, buffer)
    optimizer = at_hand(fn, made(fn, sgd, model, rate, momentum))
    given = fn(made(fn, OfTorch, comm), model, optimizer)
    used = optimizer if isinstance(given, Made) else given  # elsewhere, this is what was made there
    if isinstance(fn, Remote):
        fn.follow(list(model.parameters()))  # hooks may be there
    steps = _is_optimizer(used)
    seen: dict[str, Any] = {
        "returned": "an optimizer" if steps else kind_of(used),
        "start": _copies(model),
        "buffer": buffer.clone(),
        "rates": [float(group["lr"]) for group in used.param_groups] if steps else [],
        "momentum": [group.get("momentum") for group in used.param_groups] if steps else [],
        "weights": [],
    }
    for batch, wanted in zip(inputs, targets, strict=True) if steps else ():
        used.zero_grad()
        element_losses(model(batch), wanted).mean().backward()
        comm.compute(BACKWARD)
        used.step()
        seen["weights"].append(_copies(model))
    return seen


def give_buffer(model: Any, buffer: Tensor) -> None:
    """A tensor that belongs to a model's state and is not trained."""
    model.register_buffer("mean", buffer)


def sgd(model: Any, rate: float, momentum: float) -> Any:
    """A model's optimizer."""
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)


def _is_optimizer(used: Any) -> bool:
    try:
        return callable(getattr(used, "step", None)) and callable(getattr(used, "zero_grad", None))
    except Elsewhere:  # something in another process that has no such thing
        return False


def kind_of(value: Any) -> str:
    """The name of a value's type, where it is."""
    return value.kind if isinstance(value, Remote) else type(value).__name__


def _on_metric(fn: Function, comm: Any, value: float, rows: int) -> Any:
    """`fn(hvd, value, rows)`; `values[rank]` is what it gave."""
    return fn(made(fn, OfTorch, comm), value, rows)


class Load:
    """Reads a checkpoint. read: gives its tensors and numbers in one list."""

    def __init__(self, read: Callable[[], list[Any]]) -> None:
        self.read = read

    def __call__(self) -> dict[str, Any]:
        weights, buffer, momenta, rate, step = self.read()
        other = network(weights)
        give_buffer(other, buffer)
        optimizer = sgd(other, rate, MOMENTUM)
        for parameter, momentum in zip(other.parameters(), momenta, strict=True):
            optimizer.state[parameter]["momentum_buffer"] = momentum
        held = {"model": other.state_dict(), "optimizer": optimizer.state_dict()}
        return {**held, "step": step}


def _on_resume(
    fn: Function, comm: Any, weights: list[Tensor], buffer: Tensor, rate: float, saved: Any
) -> Any:
    """`fn(hvd, model, optimizer, load)` where rank 0 alone has the file.

    A rank's arguments: its weights, buffer and learning rate, and what it can load, a dictionary or
    None. `values[rank]`: step (what was returned), weights, buffer, loads (how often `load` was
    called), and momenta and rates, by what two steps of the optimizer do then.
    """
    differ(fn, comm.rank)
    model, loads = network(weights), 0
    there(fn, give_buffer, model, buffer)
    optimizer = at_hand(fn, made(fn, sgd, model, rate, MOMENTUM))

    def read() -> list[Any]:
        nonlocal loads
        loads += 1
        if saved is None:
            raise FileNotFoundError(f"There is no checkpoint.pt on rank {comm.rank}'s disk.")
        return [saved[key] for key in ("weights", "buffer", "momenta", "rate", "step")]

    step = fn(made(fn, OfTorch, comm), model, optimizer, made(fn, Load, read))
    seen = {"step": step, "weights": _copies(model), "buffer": buffer.clone(), "loads": loads}
    momenta, rates = _by_two_steps(model, optimizer)
    return {**seen, "momenta": momenta, "rates": rates}


def _by_two_steps(model: Any, optimizer: Any) -> tuple[list[Tensor], list[float]]:
    """The momenta m and the learning rates r of an optimizer, as its steps show them.

    Without a gradient the first one goes r · μm down; with ones everywhere the second goes
    r · (μ²m + 1). r: of the first number of each tensor that has not the r of the one before.
    """
    at = [_copies(model)]
    for gradient in (0.0, 1.0):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, gradient)
        optimizer.step()
        at.append(_copies(model))
    momenta, rates = list[Tensor](), list[float]()
    for before, between, after in zip(*at, strict=True):
        first, second = before - between, between - after
        rate = second - MOMENTUM * first
        momenta.append(first / (MOMENTUM * rate))
        rates.append(float(rate.flatten()[0]))
    same = all(abs(rate - rates[0]) <= 1e-9 * abs(rates[0]) for rate in rates)
    return momenta, rates[:1] if same else rates


def element_losses(outputs: Any, targets: Any) -> Any:
    """For each element (1 + t²) · (y − t)² / 2, which changes where the two are exchanged."""
    return 0.5 * (1 + targets * targets) * (outputs - targets) ** 2


def _copies(model: Any) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def differ(fn: Function, rank: int) -> None:
    """Every rank's global random state differs, as it does on real ranks."""
    seed_there(fn, rank)


on_prepare = Ranked(_on_prepare, arguments=3)
on_metric = Ranked(_on_metric, arguments=3)
on_resume = Ranked(_on_resume, arguments=4)
