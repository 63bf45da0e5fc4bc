"""Drivers for lesson 03: shards over epochs, small networks, hooks under a slow backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.exercises.drives import (
    Apart,
    Function,
    Ranked,
    Remote,
    failed,
    plain,
    wrong_signature,
)
from helpers.exercises.random_states import seed_there, states_there
from helpers.exercises.spec import Case, Observation


def _over_epochs(fn: Function, rank: int, rows: int, size: int, epochs: int) -> list[Any]:
    """`fn(rows, rank, size, epoch)` for every epoch, then for epoch 0 again.

    Every rank's global random state differs, as it does on real ranks. What comes last is whether
    `fn` left it alone. To a function in another process every rank begins with another epoch.
    """
    found: dict[int, Any] = {}
    first = rank % epochs if isinstance(fn, Remote) else 0
    order = [*range(first, epochs), *range(first)]
    left_alone = True
    for call, epoch in enumerate([*order, epochs]):
        seed_there(fn, 1000 * rank + call)
        before = states_there(fn)
        found[epoch] = plain(fn(rows, rank, size, epoch % epochs))
        left_alone = left_alone and states_there(fn) == before
    return [*(found[epoch] for epoch in range(epochs + 1)), left_alone]


def network(weights: list[Tensor]) -> nn.Sequential:
    """Linear layers with tanh between them, float64, from copies of [W₁, b₁, W₂, b₂, …]."""
    return network_of([nn.Parameter(weight.to(torch.float64, copy=True)) for weight in weights])


def network_of(parameters: list[nn.Parameter]) -> nn.Sequential:
    """As `network`, of these very parameters."""
    layers: list[nn.Module] = []
    for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
        linear = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
        linear.weight, linear.bias = weight, bias
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def over_steps(fn: Function, case: Case) -> Observation:
    """Call `fn(step, *the case's other arguments)` for every step; `values[0]` is the list."""
    trouble = wrong_signature(fn, len(case.args[0]))
    if trouble:
        return trouble
    steps, *others = case.args[0]
    try:
        return Observation(values=[[plain(fn(step, *others)) for step in steps]])
    except Exception as error:
        return failed(error, fn)


def _on_gradients(
    fn: Function, comm: Any, weights: list[Tensor], inputs: Tensor, targets: Tensor, total: int
) -> Any:
    """One backward on each rank's rows, then `fn(comm, model, rows, total)`.

    A rank's arguments: weights, inputs, targets, total. `values[rank]` is `{"gradients",
    "weights"}` afterwards.
    """
    model = network(weights)
    nn.functional.mse_loss(model(inputs), targets).backward()
    fn(comm, model, len(inputs), total)
    return {
        "gradients": [p.grad for p in model.parameters()],
        "weights": list(model.parameters()),
    }


def _on_training(fn: Function, comm: Any, weights: list[Tensor], *others: Any) -> Any:
    """Call `fn(comm, model, inputs, targets, total, steps, rate)`; `values[rank]` are the weights.

    A rank's arguments: weights, then what follows `model`.
    """
    model = network(weights)
    fn(comm, model, *others)
    return list(model.parameters())


class _Slow(torch.autograd.Function):
    """Passes everything through; its backward takes so many seconds of the rank's clock."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, comm: Any, seconds: float) -> Tensor:
        ctx.comm, ctx.seconds = comm, seconds
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.comm.compute(ctx.seconds)
        return gradients[0], None, None


def _on_hooks(
    fn: Function,
    comm: Any,
    weights: list[Tensor],
    inputs: Tensor,
    targets: Tensor,
    groups: list[list[int]],
    rate: float,
    seconds: float,
) -> Any:
    """Call `fn(comm, buckets, reduce)` and train some steps with what it returns.

    A rank's arguments: weights, inputs and targets (a batch a step), groups (for each bucket, the
    numbers of its parameters), rate, and the seconds that backward spends in each layer.
    `values[rank]`: weights afterwards; sums, a list of (step, start, elements) for every call of
    `reduce`; ends, when each backward ended; done, how many sums were through when each finish()
    returned; finish, whether something callable was returned.
    """
    model = network(weights)
    parameters = list(model.parameters())
    sums: list[Any] = []
    ends: list[float] = []
    done: list[int] = []
    ended, step = 0, 0

    def reduce(its_comm: Any, flat: Tensor) -> Tensor:
        nonlocal ended
        sums.append((step, its_comm.time(), flat.numel()))
        _sum_in_place(its_comm, flat)
        ended += 1
        return flat

    finish = fn(comm, [[parameters[i] for i in group] for group in groups], reduce)
    if isinstance(fn, Remote):
        fn.follow(parameters)
    if callable(finish):
        for step, (batch, wanted) in enumerate(zip(inputs, targets, strict=True)):  # noqa: B007
            model.zero_grad()
            _slow_loss(model, batch, wanted, comm, seconds).backward()
            ends.append(comm.time())
            finish()
            done.append(ended)
            with torch.no_grad():
                for parameter in parameters:
                    parameter.sub_(rate * parameter.grad)  # type: ignore[operator]
    return {
        "weights": parameters,
        "sums": sums,
        "ends": ends,
        "done": done,
        "finish": callable(finish),
    }


def _slow_loss(model: nn.Sequential, batch: Tensor, wanted: Tensor, comm: Any, s: float) -> Tensor:
    out = batch
    for layer in model:
        out = layer(out)
        if isinstance(layer, nn.Linear):
            out = _Slow.apply(out, comm, s)
    return nn.functional.mse_loss(out, wanted)


def _sum_in_place(comm: Any, flat: Tensor) -> None:
    """A plain all-reduce through rank 0, so that what is judged is only when it starts."""
    if comm.rank:
        comm.send(flat, 0)
        flat.copy_(comm.recv(0))
        return
    for other in range(1, comm.size):
        flat += comm.recv(other)
    for other in range(1, comm.size):
        comm.send(flat, other)


over_epochs = Apart(_over_epochs, arguments=4)  # `values[0][call][rank]` are row numbers
on_gradients = Ranked(_on_gradients, arguments=4)
on_training = Ranked(_on_training, arguments=7)
on_hooks = Ranked(_on_hooks, arguments=3, clocked=("sums", "ends", "done"))
