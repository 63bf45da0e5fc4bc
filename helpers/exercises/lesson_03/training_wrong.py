"""The reference of exercise 03.3, and training loops with one thing wrong."""

from __future__ import annotations

from typing import Any


def _train(
    comm: Any,
    model: Any,
    inputs: Any,
    targets: Any,
    steps: int,
    rate: float,
    share: float | None,
    broadcast: bool = True,
    clear: bool = True,
    update: bool = True,
) -> None:
    import torch

    from helpers.algorithms.data_parallel.data_parallel import (
        average_gradients,
        broadcast_parameters,
    )

    if broadcast:
        broadcast_parameters(model, comm)
    for _ in range(steps):
        if clear:
            model.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        if share is not None:
            average_gradients(model, comm, weight=share)
        with torch.no_grad():
            for parameter in model.parameters():
                if update:
                    parameter -= rate * parameter.grad
                else:
                    parameter = parameter - rate * parameter.grad


def reference(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """The course's own."""
    _train(comm, model, inputs, targets, steps, rate, len(inputs) / total)


def no_broadcast(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """Replicas start different."""
    _train(comm, model, inputs, targets, steps, rate, len(inputs) / total, broadcast=False)


def not_cleared(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """Gradients add up from step to step."""
    _train(comm, model, inputs, targets, steps, rate, len(inputs) / total, clear=False)


def alone(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """Never averages."""
    _train(comm, model, inputs, targets, steps, rate, None)


def at_the_end(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """Averages the weights once."""
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring

    _train(comm, model, inputs, targets, steps, rate, None)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter /= comm.size
            all_reduce_ring(comm, parameter)


def equal_shares(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """Divides by N whatever the rows."""
    _train(comm, model, inputs, targets, steps, rate, 1 / comm.size)


def sums(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """Sums the gradients."""
    _train(comm, model, inputs, targets, steps, rate, 1.0)


def no_update(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """Makes new tensors instead of changing the parameters."""
    _train(comm, model, inputs, targets, steps, rate, len(inputs) / total, update=False)


def rank_0_broadcasts(
    comm: Any, model: Any, inputs: Any, targets: Any, total: int, steps: int, rate: float
) -> None:
    """Only rank 0 calls the broadcast: a deadlock, for nobody receives."""
    from helpers.algorithms.data_parallel.data_parallel import broadcast_parameters

    if comm.rank == 0:
        broadcast_parameters(model, comm)
    _train(comm, model, inputs, targets, steps, rate, None, broadcast=False)
