"""What actors do: play by a policy, and take the gradient of what they played."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import linear

from helpers.lessons.actors.algorithms.losses import Losses, actor_critic_losses
from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.experiments.games import Game, Rollout, first_returns, masked, rollout

if TYPE_CHECKING:
    from helpers.lessons.actors.experiments.actor_settings import Setting

Correct = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""As `v_trace`: log ratios, rewards, discounts, values, the last value; targets and advantages."""
Judge = Callable[[Tensor, Tensor, Tensor], Tensor]
"""As `n_step_returns`."""
Weigh = Callable[..., tuple[Tensor, Tensor, Tensor]]
"""As `actor_critic_losses`; any triple will do."""


class ActorTask:
    """A setting's games, played by actors with flat weights.

    Each actor plays its own games, for the setting's steps a gradient, by the weights that it is
    given; a gradient is of what it played. Its games go on from one gradient to the next, and begin
    anew with its step 0: a training that is repeated plays the same games. The policy and the value
    share all layers but the last.
    seed: of the first weights, the games and the draws. returns, losses: how a rollout is judged,
    as `n_step_returns` and `actor_critic_losses` do.
    """

    def __init__(
        self,
        setting: Setting,
        seed: int = 0,
        returns: Judge = n_step_returns,
        losses: Weigh = actor_critic_losses,
    ) -> None:
        self.setting, self.seed, self.judge, self.losses = setting, seed, returns, losses
        game = setting.make(1, 0)
        self.widths = (game.inputs, *setting.widths, game.actions + 1)
        self.playing: dict[int, tuple[Game, torch.Generator]] = {}

    def initial(self) -> Tensor:
        """As torch starts linear layers; the last with a hundredth of that, so that all is open."""
        random = torch.Generator().manual_seed(self.seed)
        parts, last = [], len(self.widths) - 2
        for layer, (inputs, outputs) in enumerate(pairwise(self.widths)):
            bound = inputs**-0.5 * (0.01 if layer == last else 1.0)
            parts.append(bound * (2 * torch.rand(outputs * inputs, generator=random) - 1))
            parts.append(torch.zeros(outputs))
        return torch.cat(parts)

    def gradient(self, weights: Tensor, actor: int, step: int) -> Tensor:
        """Go on playing by these weights. Returns: the gradient of the loss, (weights,)."""
        return self.slope(weights, self.play(weights, actor, step))

    def play(self, weights: Tensor, actor: int, step: int) -> Rollout:
        """What an actor plays by these weights. step: how often it has played before."""
        setting = self.setting
        if step == 0:
            seed = ((self.seed + 1) * 1_000_003 + actor) % 2**31
            games = setting.make(setting.games, seed)
            self.playing[actor] = games, torch.Generator().manual_seed(seed)
        game, random = self.playing[actor]
        policy = partial(self.policy, weights)
        return rollout(game, policy, setting.steps, setting.discount, random)

    def slope(self, weights: Tensor, played: Rollout, correct: Correct | None = None) -> Tensor:
        """The gradient of the loss, (weights,), cut to its longest. correct: see `loss`."""
        own = weights.detach().clone().requires_grad_()
        self.loss(own, played, correct).backward()
        assert own.grad is not None
        return own.grad * min(1.0, self.setting.longest / (float(own.grad.norm()) + 1e-12))

    def loss(self, weights: Tensor, played: Rollout, correct: Correct | None = None) -> Tensor:
        """The actor-critic's, of some steps.

        correct: such as `v_trace`, where an older policy than that of these weights played; None:
        n-step returns, as if it had been this one.
        """
        logits, values = self.policy(weights, played.seen)
        logits = masked(logits[:-1], played.legal[:-1])
        values, last = values[:-1], values[-1].detach()
        came = played.rewards, played.discounts
        if correct is None:
            targets = self.judge(*came, last)
            advantages = targets - values.detach()
        else:
            logs = logits.detach().log_softmax(-1).gather(-1, played.actions[..., None])[..., 0]
            targets, advantages = correct(logs - played.logs, *came, values.detach(), last)
        losses = Losses(*self.losses(logits, values, played.actions, targets, advantages))
        return losses.total(entropy_weight=self.setting.entropy_weight)

    def policy(self, weights: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (…, actions) and values (…), by flat weights: [W₁, b₁, W₂, …], tanh between."""
        start, out = 0, seen
        for inputs, outputs in pairwise(self.widths):
            middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
            out = torch.tanh(out) if start else out
            out = linear(out, weights[start:middle].view(outputs, inputs), weights[middle:end])
            start = end
        return out[..., :-1], out[..., -1]

    def returns(self, weights: Tensor, games: int) -> Tensor:
        """The sum of rewards in the first episode of each of so many games, (games,), float32.

        What is done is what the policy finds likeliest, and the games are the same ones always.
        """
        return first_returns(self.setting.make(games, 1_000_003), partial(self.policy, weights))
