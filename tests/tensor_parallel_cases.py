"""What the tests of tensor parallelism share: the dense training, the parallel one, and slices."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.lessons.messages.algorithms.collectives import chunk_bounds
from helpers.lessons.sharding.algorithms.vocabulary_parallel import (
    parallel_transformer,
    vocabulary_cross_entropy,
)
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer

STEPS, ROWS, LENGTH = 5, 3, 6
# 3 heads, 4 · 12 hidden units and 17 tokens divide by none of 2, 5; by 3 and 4 only some.
SHAPE: dict[str, Any] = {
    "vocabulary": 17, "width": 12, "heads": 3, "blocks": 2, "length": LENGTH, "dtype": torch.float64
}  # fmt: skip
FROZEN = ("1.attention.key.weight", "1.first.bias", "2.mlp.up.weight", "2.mlp.down.bias")


def dense(seed: int, tied: bool, frozen: bool) -> nn.Sequential:
    """The whole model, with some parameters of each kind frozen."""
    model = transformer(tied=tied, seed=seed, **SHAPE)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not (frozen and name in FROZEN))
    return model


def optimizer_of(model: nn.Module, adam: bool) -> torch.optim.Optimizer:
    trained = [p for p in model.parameters() if p.requires_grad]
    if adam:
        # An epsilon that no gradient of zero to rounding (a key's bias) can make a step of.
        return torch.optim.Adam(trained, 0.01, eps=1e-4)
    return torch.optim.SGD(trained, 0.1, momentum=0.9)


def state(model: nn.Module) -> dict[str, Tensor]:
    """Parameters, and gradients under "name.grad" (frozen ones have none)."""
    found = {}
    for name, parameter in model.named_parameters():
        found[name] = parameter.detach().clone()
        if parameter.grad is not None:
            found[f"{name}.grad"] = parameter.grad.clone()
    return found


def batch(step: int, rows: int = ROWS) -> tuple[Tensor, Tensor]:
    """The whole batch of a step."""
    return text(rows, LENGTH, SHAPE["vocabulary"], seed=step)


def _trained(
    model: nn.Module, adam: bool, loss_of: Any, rows: int = ROWS
) -> tuple[list[float], list[dict[str, Tensor]]]:
    """Losses and states of each step."""
    optimizer = optimizer_of(model, adam)
    losses, states = [], []
    for step in range(STEPS):
        tokens, targets = batch(step, rows)
        optimizer.zero_grad()
        loss = loss_of(model(tokens), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        states.append(state(model))
    return losses, states


def dense_training(
    tied: bool = False, frozen: bool = False, adam: bool = False, rows: int = ROWS
) -> tuple[list[float], list[dict[str, Tensor]]]:
    """Losses and states of each step, without ranks."""
    return _trained(dense(0, tied, frozen), adam, token_loss, rows)


def parallel_training(
    comm: Any, tied: bool = False, frozen: bool = False, adam: bool = False
) -> tuple[list[float], list[dict[str, Tensor]]]:
    """The same on ranks that begin with other weights each."""
    model = parallel_transformer(dense(comm.rank, tied, frozen), comm)

    def loss_of(scores: Tensor, targets: Tensor) -> Tensor:
        return vocabulary_cross_entropy(comm, scores, targets, SHAPE["vocabulary"])

    return _trained(model, adam, loss_of)


def part(name: str, whole: Tensor, rank: int, size: int) -> Tensor:
    """What a rank should hold of a dense tensor of this name."""
    name = name.removesuffix(".grad")
    unit = SHAPE["width"] // SHAPE["heads"] if ".attention." in name else 1
    dim = None
    if any(f".{layer}." in name for layer in ("tokens", "scores", "query", "key", "value", "up")):
        dim = 0
    elif name.endswith((".out.weight", ".down.weight")):
        dim = 1
    if dim is None:
        return whole
    start, stop = chunk_bounds(whole.shape[dim] // unit, size)[rank]
    return whole.narrow(dim, start * unit, (stop - start) * unit)


def assert_parts(results: Any, expected: Any, size: int) -> None:
    """Every rank's losses, parameters and gradients of every step are the dense model's parts."""
    losses, states = expected
    for rank, (its_losses, its_states) in enumerate(results):
        torch.testing.assert_close(
            torch.tensor(its_losses), torch.tensor(losses), rtol=1e-10, atol=1e-10
        )
        for step, (here, there) in enumerate(zip(its_states, states, strict=True)):
            assert here.keys() == there.keys()  # no gradient where the dense model has none
            for name, value in here.items():
                want = part(name, there[name], rank, size)
                torch.testing.assert_close(
                    value, want, rtol=1e-10, atol=1e-10, msg=lambda m, n=name: f"{n}: {m}"
                )
                if want.shape == there[name].shape and part(name, there[name], 0, 2) is there[name]:
                    # What is whole on every rank has the very same bits: it does not drift apart.
                    assert torch.equal(value, results[0][1][step][name]), name
