"""Recomputation of what exercise 13.5 does not ask for: several inputs, and autocast."""

from __future__ import annotations

import torch
from torch import nn

from helpers.lessons.pipelines.algorithms.recompute import recompute


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
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 20), nn.GELU(), nn.Linear(20, 6))
        with torch.autocast("cpu", torch.bfloat16):
            out = (recompute(model, torch.ones(4, 6)) if again else model(torch.ones(4, 6))).sum()
        out.backward()
        found.append([parameter.grad for parameter in model.parameters()])
    for a, b in zip(*found, strict=True):
        assert torch.equal(a, b)
