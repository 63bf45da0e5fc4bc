"""Returns, losses and V-trace against the formulas of the papers, written out, in float64."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from helpers.lessons.actors.algorithms.losses import actor_critic_losses
from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.algorithms.v_trace import v_trace

CUTS = [(1.0, 1.0), (2.0, 0.5), (math.inf, math.inf), (math.inf, 1.0)]


def played(seed: int, steps: int, actors: int) -> dict[str, Tensor]:
    """Random steps, some of which end their episodes."""
    random = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    ended = torch.rand(steps, actors, generator=random) < 0.2
    return {
        "log_ratios": normal(steps, actors),
        "rewards": normal(steps, actors),
        "discounts": torch.where(ended, 0.0, 0.9).double(),
        "values": normal(steps, actors),
        "bootstrap": normal(actors),
    }


def by_the_paper(given: dict[str, Tensor], rho: float, c: float) -> tuple[Tensor, Tensor]:
    """IMPALA's sums as they stand there, equation 1, one actor and one step at a time."""
    ratios, steps = given["log_ratios"].exp(), len(given["rewards"])
    targets, advantages = torch.zeros_like(ratios), torch.zeros_like(ratios)
    for actor in range(ratios.shape[1]):
        r, g, v = (given[name][:, actor] for name in ("rewards", "discounts", "values"))
        after = [*v[1:], given["bootstrap"][actor]]
        weight = [min(rho, float(ratio)) for ratio in ratios[:, actor]]
        trace = [min(c, float(ratio)) for ratio in ratios[:, actor]]
        for s in range(steps):
            targets[s, actor] = v[s]
            for t in range(s, steps):
                factor = math.prod(float(g[i]) * trace[i] for i in range(s, t))
                targets[s, actor] += factor * weight[t] * (r[t] + g[t] * after[t] - v[t])
        following = [*targets[1:, actor], given["bootstrap"][actor]]
        for s in range(steps):
            advantages[s, actor] = weight[s] * (r[s] + g[s] * following[s] - v[s])
    return targets, advantages


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(CUTS), st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 3))
def test_v_trace_is_the_paper_s(
    cuts: tuple[float, float], seed: int, steps: int, actors: int
) -> None:
    (rho, c), given = cuts, played(seed, steps, actors)
    found = v_trace(**given, rho=rho, c=c)
    targets, advantages = by_the_paper(given, rho, c)
    torch.testing.assert_close(found.targets, targets, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(found.advantages, advantages, rtol=1e-10, atol=1e-10)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), steps=st.integers(1, 40))
def test_without_staleness_v_trace_is_the_n_step_return(seed: int, steps: int) -> None:
    given = played(seed, steps, 2)
    given["log_ratios"].zero_()
    found = v_trace(**given)
    returns = n_step_returns(given["rewards"], given["discounts"], given["bootstrap"])
    torch.testing.assert_close(found.targets, returns, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(found.advantages, returns - given["values"], rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), steps=st.integers(1, 12))
def test_a_return_is_the_sum_of_what_came_until_its_episode_ended(seed: int, steps: int) -> None:
    given = played(seed, steps, 1)
    found = n_step_returns(given["rewards"], given["discounts"], given["bootstrap"])
    for start, total in enumerate(found[:, 0].tolist()):
        factor, wanted = 1.0, 0.0
        for step in range(start, steps):
            wanted += factor * float(given["rewards"][step, 0])
            factor *= float(given["discounts"][step, 0])
        assert math.isclose(total, wanted + factor * float(given["bootstrap"][0]), abs_tol=1e-12)


def test_shapes_that_do_not_fit_and_wrong_cuts_are_told() -> None:
    given = played(0, 4, 2)
    with pytest.raises(
        ValueError, match="a bootstrap of shape \\(2,\\), not \\(4, 2\\) and \\(3,\\)"
    ):
        n_step_returns(given["rewards"], given["discounts"], torch.zeros(3))
    with pytest.raises(ValueError, match=r"0 < c ≤ rho, not at c = 2\.0"):
        v_trace(**given, c=2.0)


def test_losses_are_means_over_all_steps_and_their_gradient_is_the_policy_s() -> None:
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 2, 4, generator=random, dtype=torch.float64, requires_grad=True)
    values = torch.randn(3, 2, generator=random, dtype=torch.float64, requires_grad=True)
    actions = torch.randint(4, (3, 2), generator=random)
    targets = torch.randn(3, 2, generator=random, dtype=torch.float64)
    advantages = targets - values
    found = actor_critic_losses(logits, values, actions, targets, advantages)
    found.total(0.5, 0.01).backward()
    policy = logits.detach().softmax(-1)
    for t, b in itertools.product(range(3), range(2)):
        p, a = policy[t, b], float(advantages[t, b].detach())
        one_hot = torch.eye(4, dtype=torch.float64)[actions[t, b]]
        entropy = -(p * p.log()).sum()
        wanted = -a * (one_hot - p) + 0.01 * p * (p.log() + entropy)
        assert logits.grad is not None and values.grad is not None
        torch.testing.assert_close(logits.grad[t, b], wanted / 6)
        apart = float((values - targets)[t, b].detach())
        assert math.isclose(float(values.grad[t, b]), 0.5 * 2 * apart / 6)


def test_what_may_not_be_done_has_no_part_in_the_losses() -> None:
    logits = torch.tensor([[0.0, -math.inf, 0.0]], requires_grad=True)
    nothing = torch.zeros(1)
    found = actor_critic_losses(logits, nothing, torch.tensor([2]), nothing + 1, nothing + 1)
    assert math.isclose(float(found.entropy.detach()), math.log(2), rel_tol=1e-6)
    found.total().backward()
    assert logits.grad is not None and bool(torch.isfinite(logits.grad).all())
    assert float(logits.grad[0, 1]) == 0
