"""Fake quantization: forward as a grid, backward straight through."""

from __future__ import annotations

import pytest
import torch

from helpers.lessons.quantization.algorithms.calibration import MinMax
from helpers.lessons.quantization.algorithms.fake_quantization import (
    FakeQuantize,
    fake_round,
    on_grid,
)
from helpers.lessons.quantization.algorithms.quantization import weight_grid


def leaf(x: torch.Tensor) -> torch.Tensor:
    return x.clone().requires_grad_()


def test_a_weight_never_loses_its_gradient_and_a_bias_is_in_whole_steps():
    weight = leaf(torch.randn(6, 10, generator=torch.Generator().manual_seed(0)))
    on_grid(weight, weight_grid(weight, 4)).sum().backward()
    assert torch.equal(weight.grad, torch.ones(6, 10))
    bias = leaf(torch.tensor([0.26, -1.0, 1e3]))
    rounded = fake_round(bias, torch.tensor(0.5))
    rounded.sum().backward()
    assert rounded.tolist() == [0.5, -1, 1000] and bias.grad.tolist() == [1, 1, 1]


def test_a_place_watches_in_training_and_rounds_after_the_delay():
    place = FakeQuantize(MinMax(), bits=4, delay=2).train()
    batches = torch.linspace(-1, 2, 60).view(3, 20)
    assert torch.equal(place(batches[0]), batches[0])
    assert torch.equal(place(batches[1]), batches[1])
    assert not torch.equal(place(batches[2]), batches[2])
    assert (float(place.grid().low), float(place.grid().high)) == pytest.approx((-1, 2))
    place.eval()
    far = torch.tensor([50.0])
    assert float(place(far)) == pytest.approx(2)
    assert place.observer.batches == 3  # eval mode only looks things up
