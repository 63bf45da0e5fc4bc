"""Fake quantization: forward as a grid, backward straight through."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.quantization.algorithms.calibration import MinMax
from helpers.lessons.quantization.algorithms.fake_quantization import (
    FakeQuantize,
    fake_quantize,
    fake_round,
    on_grid,
)
from helpers.lessons.quantization.algorithms.quantization import affine_grid, weight_grid

AT_EASE = settings(deadline=None, max_examples=15)


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


def test_numbers_will_do_and_so_do_channels():
    x = leaf(torch.tensor([[0.3, 9.0], [0.3, 9.0]]))
    y = fake_quantize(x, 0.5, 0, -2, 2)
    assert y.tolist() == [[0.5, 1], [0.5, 1]]
    y.sum().backward()
    assert x.grad.tolist() == [[1, 0], [1, 0]]
    scale = torch.tensor([[1.0], [4.0]])
    assert fake_quantize(x, scale, 0, -2, 2).tolist() == [[0, 2], [0, 8]]


def test_weights_never_lose_their_gradient():
    weight = leaf(torch.randn(4, 3))
    on_grid(weight, weight_grid(weight, 4)).sum().backward()
    assert torch.equal(weight.grad, torch.ones(4, 3))


def test_a_bias_in_whole_steps():
    x = leaf(torch.tensor([0.26, -1.0, 1e3]))
    y = fake_round(x, torch.tensor(0.5))
    assert y.tolist() == [0.5, -1, 1000]
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


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
