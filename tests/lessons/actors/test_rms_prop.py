"""RMSProp in place: one step by its formula, and beside torch's own."""

from __future__ import annotations

import pytest
import torch

from helpers.lessons.actors.algorithms.rms_prop import DECAY, EPSILON, annealed, shared_rms_prop


def test_one_step_is_the_formula() -> None:
    weights, squares = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 0.0])
    shared_rms_prop(weights, squares, torch.tensor([2.0, 0.0]), 0.1)
    s = DECAY * 4 + (1 - DECAY) * 2**2
    torch.testing.assert_close(squares, torch.tensor([s, 0.0]))
    torch.testing.assert_close(weights, torch.tensor([1 - 0.2 / (s + EPSILON) ** 0.5, 2.0]))


def test_several_steps_are_torch_s() -> None:
    ours, squares = torch.ones(7), torch.zeros(7)
    theirs = torch.ones(7, requires_grad=True)
    optimizer = torch.optim.RMSprop([theirs], 0.1, DECAY, eps=1e-9)
    for step in range(5):
        gradient = torch.randn(7, generator=torch.Generator().manual_seed(step)) + 9
        shared_rms_prop(ours, squares, gradient, 0.1)
        theirs.grad = gradient
        optimizer.step()
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-3, atol=1e-3)  # epsilon apart


def test_the_rate_falls_in_a_straight_line_and_stays_at_nothing() -> None:
    rates = [annealed(0.4, 4, version) for version in range(6)]
    assert rates == pytest.approx([0.4, 0.3, 0.2, 0.1, 0, 0])
