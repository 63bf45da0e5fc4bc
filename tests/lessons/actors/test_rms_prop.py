"""RMSProp in place and as a server's optimizer: beside torch's own, and beside each other."""

from __future__ import annotations

import copy

import pytest
import torch

from helpers.lessons.actors.algorithms.rms_prop import RmsProp, annealed, shared_rms_prop


def gradients(steps: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(steps, 7, generator=torch.Generator().manual_seed(seed))


def test_one_step_is_the_formula() -> None:
    weights, squares = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 0.0])
    shared_rms_prop(weights, squares, torch.tensor([2.0, 0.0]), 0.1, decay=0.5, epsilon=0.25)
    # s = 0.5·4 + 0.5·2² = 4, and 0; w − 0.1·2/√4.25, and as it was
    torch.testing.assert_close(squares, torch.tensor([4.0, 0.0]))
    torch.testing.assert_close(weights, torch.tensor([1 - 0.2 / 4.25**0.5, 2.0]))


def test_a_server_s_steps_are_the_shared_ones_bit_for_bit_and_leave_old_weights_alone() -> None:
    rates = annealed(0.01, 30)
    optimizer = RmsProp(rates)
    ours, squares = torch.ones(7), torch.zeros(7)
    weights = torch.ones(7)
    for version, gradient in enumerate(gradients(20)):
        before = weights.clone()
        new = optimizer.step(weights, gradient, version)
        assert torch.equal(weights, before)
        shared_rms_prop(ours, squares, gradient, rates(version))
        assert torch.equal(new, ours)
        weights = new


def test_a_copy_keeps_its_own_squares() -> None:
    optimizer = RmsProp(0.1)
    first, second = gradients(2)
    optimizer.step(torch.ones(7), first, 0)
    other = copy.copy(optimizer)
    other.step(torch.ones(7), second * 100, 1)
    again = RmsProp(0.1)
    again.step(torch.ones(7), first, 0)
    assert torch.equal(
        optimizer.step(torch.ones(7), second, 1), again.step(torch.ones(7), second, 1)
    )


def test_the_rate_falls_in_a_straight_line_and_stays_at_nothing() -> None:
    rates = annealed(0.4, 4)
    assert [rates(version) for version in range(6)] == pytest.approx([0.4, 0.3, 0.2, 0.1, 0, 0])


def test_what_makes_no_sense_is_told() -> None:
    with pytest.raises(ValueError, match="A learning rate is above 0, not 0"):
        RmsProp(0.0)
    with pytest.raises(ValueError, match="from 0 up to 1, not at 1"):
        RmsProp(0.1, decay=1.0)
    with pytest.raises(ValueError, match="Epsilon is above 0"):
        RmsProp(0.1, epsilon=0.0)
    with pytest.raises(ValueError, match="at least one update, not 0"):
        annealed(0.1, 0)
    with pytest.raises(ValueError, match="A learning rate is above 0, not -1"):
        annealed(-1, 5)
