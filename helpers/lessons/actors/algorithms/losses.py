"""The losses of an actor-critic: do what turned out better, expect what comes, stay open."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Losses(NamedTuple):
    """Means over all steps, scalars. entropy: of the policy, in nats; it is to stay large."""

    policy: Tensor
    value: Tensor
    entropy: Tensor

    def total(self, value_weight: float = 0.5, entropy_weight: float = 0.01) -> Tensor:
        """policy + value_weight·value − entropy_weight·entropy."""
        return self.policy + value_weight * self.value - entropy_weight * self.entropy


def actor_critic_losses(
    logits: Tensor, values: Tensor, actions: Tensor, targets: Tensor, advantages: Tensor
) -> Losses:
    """Of a policy and a value, at steps that were played.

    logits: (…, actions), the policy's. values: (…), what it expected. actions: (…), int64, what
    was done. targets: (…), what came of it. advantages: (…), how much better that was than
    expected. No gradient flows through the last two. An action that may not be taken has the logit
    −∞. Policy: −mean(A·log π(a)). Value: mean((target − V)²). Entropy: mean(−Σ π·log π).
    Source: Mnih et al. (2016), section 4 and algorithm S3.
    """
    logs = torch.log_softmax(logits, dim=-1)
    chosen = logs.gather(-1, actions[..., None])[..., 0]
    open_logs = logs.masked_fill(torch.isinf(logs), 0.0)  # 0·(−∞) is 0 here, and not NaN
    return Losses(
        policy=-(advantages.detach() * chosen).mean(),
        value=(targets.detach() - values).square().mean(),
        entropy=-(logs.exp() * open_logs).sum(-1).mean(),
    )
