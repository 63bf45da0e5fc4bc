"""Gymnasium's CartPole, several at once: push a cart left or right so that its pole stays up."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from torch import Tensor

from helpers.lessons.actors.experiments.games import Played


class CartPole:
    """So many carts; each step that a pole stands brings 1, and after 500 the episode is cut off.

    seed: of the states that episodes begin in. What is seen are the cart's place and speed, and the
    pole's angle and angular speed. All carts move in one numpy operation: gymnasium's vector
    environment, with episodes begun anew in the step that ends them, where its own would spend
    one more on that. Source: gymnasium's `CartPole-v1`, after Barto, Sutton and Anderson,
    "Neuronlike Adaptive Elements That Can Solve Difficult Learning Control Problems" (1983).
    """

    inputs, actions = 4, 2

    def __init__(self, carts: int, seed: int = 0) -> None:
        self.carts = CartPoleVectorEnv(carts)
        self.seen, _ = self.carts.reset(seed=seed)
        self.legal = torch.ones(carts, self.actions, dtype=torch.bool)

    def observe(self) -> tuple[Tensor, Tensor]:
        """What is seen, (carts, 4), float32; and what may be done, which is both, (carts, 2)."""
        return torch.from_numpy(self.seen.copy()), self.legal

    def step(self, actions: Tensor) -> Played:
        """Push each cart, (carts,): 0 left, 1 right."""
        last, rewards, ended, out_of_time, _ = self.carts.step(actions.numpy())
        self.seen = last.copy()
        self._begin(ended | out_of_time)
        return Played(
            torch.from_numpy(rewards),
            torch.from_numpy(ended),
            torch.from_numpy(out_of_time & ~ended),
            torch.from_numpy(last),
        )

    def _begin(self, over: np.ndarray) -> None:
        """Put these carts where an episode begins, as gymnasium does in the step after."""
        carts: Any = self.carts
        carts.state[:, over] = carts.np_random.uniform(carts.low, carts.high, (4, over.sum()))
        carts.steps[over] = 0
        carts.prev_done[over] = False
        self.seen[over] = carts.state.T[over]
