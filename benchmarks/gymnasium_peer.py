"""CartPole learned on gymnasium's plain loop, in one process: a vector of environments, a module.

The same rollouts, losses, optimizer and sizes as ours, written as gymnasium's and torch's own
tutorials write them.
"""

from __future__ import annotations

import time

import gymnasium
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor, nn
from torch.distributions import Categorical

from helpers.lessons.actors.algorithms.rms_prop import DECAY
from helpers.lessons.actors.experiments.actor_settings import Setting


class ActorCritic(nn.Module):
    """A policy and a value on one hidden layer."""

    def __init__(self, inputs: int, hidden: int, actions: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh())
        self.policy, self.value = nn.Linear(hidden, actions), nn.Linear(hidden, 1)

    def forward(self, seen: Tensor) -> tuple[Categorical, Tensor]:
        """What may be done, and what is expected: seen (games, inputs)."""
        out = self.body(seen)
        return Categorical(logits=self.policy(out)), self.value(out)[..., 0]


class Peer:
    """A training by the plain loop.

    at_once: step all carts in one numpy operation, by gymnasium's own vector environment, which
    spends a step on beginning an episode anew; else one after the other, and an episode begins in
    the step that ends the one before.
    """

    def __init__(self, setting: Setting, seed: int = 0, at_once: bool = False) -> None:
        torch.manual_seed(seed)
        self.setting, self.at_once = setting, at_once
        self.envs: VectorEnv = (
            gymnasium.make_vec("CartPole-v1", setting.games, "vector_entry_point")
            if at_once
            else gymnasium.make_vec(
                "CartPole-v1", setting.games, "sync",
                vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
            )
        )  # fmt: skip
        self.model = ActorCritic(4, setting.widths[0], 2)
        self.optimizer = torch.optim.RMSprop(self.model.parameters(), setting.rate, DECAY)
        self.seen = torch.from_numpy(self.envs.reset(seed=seed)[0])
        self.over = torch.zeros(setting.games, dtype=torch.bool)

    def learn(self, updates: int) -> float:
        """Make so many updates. Returns: seconds."""
        begin = time.perf_counter()
        for _ in range(updates):
            self.update()
        return time.perf_counter() - begin

    def update(self) -> None:
        """Play some steps, and make one update."""
        logs, values, entropies, rewards, goes_on, counts = [], [], [], [], [], []
        for _ in range(self.setting.steps):
            policy, value = self.model(self.seen)
            actions = policy.sample()
            after, reward, ended, cut, info = self.envs.step(actions.numpy())
            brought = torch.from_numpy(reward).float()
            for env in cut.nonzero()[0]:
                last = after[env] if self.at_once else info["final_obs"][env]
                with torch.no_grad():
                    brought[env] += self.setting.discount * self.model(torch.as_tensor(last))[1]
            logs.append(policy.log_prob(actions))
            values.append(value)
            entropies.append(policy.entropy())
            rewards.append(brought)
            counts.append((~self.over).float())  # not the step that only begins an episode
            over = torch.from_numpy(ended | cut)
            goes_on.append((~over).float())
            self.over = over if self.at_once else self.over
            self.seen = torch.from_numpy(after)
        with torch.no_grad():
            worth = self.model(self.seen)[1]
        returns: list[Tensor] = []
        for reward, mask in zip(reversed(rewards), reversed(goes_on), strict=True):
            worth = reward + self.setting.discount * mask * worth
            returns.insert(0, worth)
        weight = torch.stack(counts) / torch.stack(counts).sum()
        apart = torch.stack(returns) - torch.stack(values)
        loss = -(weight * apart.detach() * torch.stack(logs)).sum()
        loss = loss + 0.5 * (weight * apart.square()).sum()
        loss = loss - self.setting.entropy_weight * (weight * torch.stack(entropies)).sum()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.setting.longest)
        self.optimizer.step()
