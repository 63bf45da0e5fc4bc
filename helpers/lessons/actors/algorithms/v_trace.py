"""V-trace: what a step was worth under the learner's policy, though an older one played it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from helpers.lessons.actors.algorithms.returns import checked


class Corrected(NamedTuple):
    """targets: (steps, …), for the value. advantages: (steps, …), for the policy's gradient."""

    targets: Tensor
    advantages: Tensor


def v_trace(
    log_ratios: Tensor,
    rewards: Tensor,
    discounts: Tensor,
    values: Tensor,
    bootstrap: Tensor,
    rho: float = 1.0,
    c: float = 1.0,
) -> Corrected:
    """Targets and advantages from steps that a stale policy μ played, for the policy π.

    log_ratios: (steps, …), log π(a) − log μ(a) of what was done. rewards, discounts, bootstrap: as
    in `n_step_returns`. values: (steps, …), V of the state before each step. rho, c: what the
    importance weights are cut off at: rho decides which policy the values are of (the learner's, if
    nothing is cut), c how far back a surprise reaches; c ≤ rho.

        δ_t = ρ_t (r_t + γ_t V_{t+1} − V_t)                       ρ_t = min(rho, π/μ)
        target_t = V_t + δ_t + γ_t c_t (target_{t+1} − V_{t+1})   c_t = min(c, π/μ)
        advantage_t = ρ_t (r_t + γ_t target_{t+1} − V_t)

    Where both policies are one, the targets are the n-step returns. No gradient flows through.
    Source: Espeholt et al., "IMPALA" (2018), section 4.1 and remark 1.
    """
    checked(rewards, discounts, bootstrap)
    if not 0 < c <= rho:
        raise ValueError(f"V-trace cuts at 0 < c ≤ rho, not at c = {c} and rho = {rho}.")
    with torch.no_grad():
        ratios = log_ratios.exp()
        weights, traces = ratios.clamp(max=rho), ratios.clamp(max=c)
        later = torch.cat([values[1:], bootstrap[None]])
        surprises = weights * (rewards + discounts * later - values)
        targets, after = torch.empty_like(values), torch.zeros_like(bootstrap)
        for step in reversed(range(len(rewards))):
            after = surprises[step] + discounts[step] * traces[step] * after
            targets[step] = values[step] + after
        next_targets = torch.cat([targets[1:], bootstrap[None]])
        return Corrected(targets, weights * (rewards + discounts * next_targets - values))
