"""Fake quantization: forward as a grid, backward straight through."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.quantization.algorithms.calibration import MinMax
from helpers.lessons.quantization.algorithms.fake_quantization import (
    FakeQuantize,
    fake_round,
    on_grid,
)
from helpers.lessons.quantization.algorithms.quantization import affine_grid, weight_grid

AT_EASE = settings(max_examples=15)


def leaf(x: torch.Tensor) -> torch.Tensor:
    return x.clone().requires_grad_()


@AT_EASE
@given(st.integers(2, 8), st.floats(-3, 0), st.floats(0, 3), st.integers(0, 1000))
def test_it_is_the_round_trip_and_lets_gradients_pass_inside(bits, low, high, seed):
    grid = affine_grid(low, high, bits)
    x = leaf(torch.randn(60, generator=torch.Generator().manual_seed(seed)) * 3)
    y = on_grid(x, grid)
    assert torch.equal(y, grid.round_trip(x.detach()))
    weights = torch.arange(1.0, 61)
    (y * weights).sum().backward()
    codes = torch.round(x.detach() / grid.scale) + grid.zero_point
    inside = (codes >= grid.lowest) & (codes <= grid.highest)
    assert torch.equal(x.grad, weights * inside)
    # A weight's grid holds all of it: it never loses its gradient.
    weight = leaf(x.detach().view(6, 10))
    on_grid(weight, weight_grid(weight, bits)).sum().backward()
    assert torch.equal(weight.grad, torch.ones(6, 10))
    # A bias in whole steps.
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
