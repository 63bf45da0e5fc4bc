"""What the tests of splits share: training the whole model, and comparing every gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

STEPS = 5
TOLERANCE = 1e-10
Record = list[tuple[float, dict[str, Tensor]]]  # for each step the loss and the gradients by name


def optimizer_of(parameters: Any, kind: str) -> torch.optim.Optimizer:
    """SGD with momentum, or Adam, over what is trained."""
    trained = [p for p in parameters if p.requires_grad]
    if not trained:  # a rank may hold nothing that learns
        trained = [nn.Parameter(torch.zeros(1))]
    if kind == "adam":
        return torch.optim.Adam(trained, 0.01)
    return torch.optim.SGD(trained, 0.05, momentum=0.9)


def gradients(named: Any) -> dict[str, Tensor]:
    """Copies of all gradients by name."""
    return {name: p.grad.detach().clone() for name, p in named if p.grad is not None}


def dense(
    model: nn.Module,
    batch: Callable[[int], tuple[Tensor, Tensor]],
    loss: Callable[[Tensor, Tensor], Tensor],
    kind: str = "sgd",
) -> Record:
    """The baseline: the whole model, trained without ranks."""
    optimizer, record = optimizer_of(model.parameters(), kind), []
    for step in range(STEPS):
        inputs, targets = batch(step)
        optimizer.zero_grad()
        value = loss(model(inputs), targets)
        value.backward()
        record.append((value.item(), gradients(model.named_parameters(remove_duplicate=False))))
        optimizer.step()
    return record


def assert_same(found: Record, wanted: Record, cut: Any = lambda name, gradient: gradient) -> None:
    """Hold a rank's record against the whole model's. cut: the rank's part of a gradient."""
    assert len(found) == len(wanted) == STEPS
    for (value, mine), (right, whole) in zip(found, wanted, strict=True):
        assert abs(value - right) <= TOLERANCE * max(1, abs(right))
        for name, gradient in mine.items():
            torch.testing.assert_close(
                gradient,
                cut(name, whole[name]),
                rtol=TOLERANCE,
                atol=TOLERANCE,
                msg=lambda text, name=name: f"{name}: {text}",
            )
