"""What a step was worth: its reward, and all that came of it, less the later it came."""

from __future__ import annotations

import torch
from torch import Tensor


def n_step_returns(rewards: Tensor, discounts: Tensor, bootstrap: Tensor) -> Tensor:
    """R_t = r_t + γ_t·R_{t+1}, backwards from R_T = bootstrap.

    rewards: (steps, …), what each step brought. discounts: as rewards, γ, and 0 where a step ended
    its episode. bootstrap: (…), the value of the state after the last step, which stands for all
    that was not played. Returns: as rewards. Raises ValueError if the shapes do not fit.
    Source: Mnih et al., "Asynchronous Methods for Deep Reinforcement Learning" (2016), algorithm
    S3.
    """
    checked(rewards, discounts, bootstrap)
    returns, after = torch.empty_like(rewards), bootstrap
    for step in reversed(range(len(rewards))):
        after = rewards[step] + discounts[step] * after
        returns[step] = after
    return returns


def checked(rewards: Tensor, discounts: Tensor, bootstrap: Tensor) -> None:
    """Raise ValueError unless there is a discount for each reward and one value for the end."""
    if discounts.shape != rewards.shape or bootstrap.shape != rewards.shape[1:]:
        raise ValueError(
            f"Rewards of shape {tuple(rewards.shape)} need discounts of the same shape and a "
            f"bootstrap of shape {tuple(rewards.shape[1:])}, not {tuple(discounts.shape)} and "
            f"{tuple(bootstrap.shape)}."
        )
