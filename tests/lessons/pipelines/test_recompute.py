"""Recomputation: equal gradients, the same random numbers, and nothing kept but the inputs."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from helpers.lessons.pipelines.algorithms.recompute import recompute


def block(dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Linear(6, 20), nn.GELU(), nn.Dropout(dropout), nn.Linear(20, 6)]
    return nn.Sequential(*layers).double()


def gradients(run, x: torch.Tensor, model: nn.Module) -> list[torch.Tensor]:
    torch.manual_seed(1)
    (run(x) ** 2).sum().backward()
    found = [x.grad, *(p.grad for p in model.parameters())]
    return [g.clone() for g in found if g is not None]


def kept(run) -> int:
    """Numbers that autograd saves while a function runs."""
    saved: list[int] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        run()
    return sum(saved)


@pytest.mark.parametrize("how", ["plain", "dropout", "inner", "frozen"])
def test_equal_gradients(how):
    found = []
    for again in (False, True):
        model = block(0.5 if how == "dropout" else 0.0)
        model.requires_grad_(how != "frozen")
        x = torch.randn(5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
        x.requires_grad_()
        run = partial(recompute, model) if again else model
        found.append(gradients((lambda x, f=run: f(x * 2)) if how == "inner" else run, x, model))
    for a, b in zip(*found, strict=True):
        assert torch.equal(a, b)  # the same operations: the very same bits


def test_only_the_input_is_kept():
    model = block()
    x = torch.ones(5, 6, dtype=torch.float64, requires_grad=True)
    assert kept(lambda: recompute(model, x)) == x.numel()
    assert kept(lambda: model(x)) > 5 * x.numel()


def test_several_inputs_and_outputs():
    def fn(a, times, b):
        return a * times + b, a * b

    found = []
    for run in (fn, lambda *given: recompute(fn, *given)):
        a, b = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        first, second = run(a, 3, b)
        (first.sum() + 5 * second[0]).backward()
        found.append((a.grad, b.grad))
    for mine, plain in zip(*found, strict=True):
        assert torch.equal(mine, plain)


def test_backward_computes_under_the_autocast_of_forward():
    found = []
    for again in (False, True):
        model = block().float()
        with torch.autocast("cpu", torch.bfloat16):
            out = (recompute(model, torch.ones(4, 6)) if again else model(torch.ones(4, 6))).sum()
        out.backward()
        found.append([parameter.grad for parameter in model.parameters()])
    for a, b in zip(*found, strict=True):
        assert torch.equal(a, b)
