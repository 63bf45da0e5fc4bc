"""What V-trace equals, what returns and losses refuse, and RMSProp beside its formula."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.algorithms.rms_prop import DECAY, EPSILON, annealed, shared_rms_prop
from helpers.lessons.actors.algorithms.v_trace import v_trace


def played(seed: int, steps: int, actors: int) -> dict[str, Tensor]:
    """Random steps on a policy that is not stale; some of them end their episodes."""
    random = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    ended = torch.rand(steps, actors, generator=random) < 0.2
    return {
        "log_ratios": torch.zeros(steps, actors, dtype=torch.float64),
        "rewards": normal(steps, actors),
        "discounts": torch.where(ended, 0.0, 0.9).double(),
        "values": normal(steps, actors),
        "bootstrap": normal(actors),
    }


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), steps=st.integers(1, 40))
def test_without_staleness_v_trace_is_the_n_step_return(seed: int, steps: int) -> None:
    given = played(seed, steps, 2)
    found = v_trace(**given)
    returns = n_step_returns(given["rewards"], given["discounts"], given["bootstrap"])
    torch.testing.assert_close(found.targets, returns, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(found.advantages, returns - given["values"], rtol=1e-12, atol=1e-12)


def test_shapes_that_do_not_fit_and_wrong_cuts_are_told() -> None:
    given = played(0, 4, 2)
    with pytest.raises(ValueError, match=r"bootstrap of shape \(2,\), not \(4, 2\) and \(3,\)"):
        n_step_returns(given["rewards"], given["discounts"], torch.zeros(3))
    with pytest.raises(ValueError, match=r"0 < c ≤ rho, not at c = 2\.0"):
        v_trace(**given, c=2.0)


def test_a_step_of_rms_prop_is_the_formula_and_the_rate_falls_in_a_straight_line() -> None:
    weights, squares = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 0.0])
    shared_rms_prop(weights, squares, torch.tensor([2.0, 0.0]), 0.1)
    s = DECAY * 4 + (1 - DECAY) * 2**2
    torch.testing.assert_close(squares, torch.tensor([s, 0.0]))
    torch.testing.assert_close(weights, torch.tensor([1 - 0.2 / (s + EPSILON) ** 0.5, 2.0]))
    rates = [annealed(0.4, 4, version) for version in range(6)]
    assert rates == pytest.approx([0.4, 0.3, 0.2, 0.1, 0, 0])
