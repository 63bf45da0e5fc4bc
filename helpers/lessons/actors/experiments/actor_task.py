"""Actors as workers: a task whose gradients come from games that each worker plays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import linear

from helpers.lessons.actors.algorithms.losses import Losses, actor_critic_losses
from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.experiments.games import Game, Rollout, first_returns, masked, rollout

MakeGame = Callable[[int, int], Game]
"""Given how many games are to run at once, and a seed."""


Correct = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""As `v_trace`: log ratios, rewards, discounts, values, the last value; targets and advantages."""


Judge = Callable[[Tensor, Tensor, Tensor], Tensor]
"""As `n_step_returns`."""
Weigh = Callable[..., tuple[Tensor, Tensor, Tensor]]
"""As `actor_critic_losses`; any triple will do."""


class ActorTask:
    """What `helpers.train` and every rule can train: A3C, if the rule is `Asynchronous`.

    Each worker plays its own games, for `steps` steps a gradient, by the weights that it pulled; a
    gradient is of what it played. Its games go on from one gradient to the next, and begin anew
    with its step 0: a training that is repeated plays the same games.

    make: such as `TicTacToe`. games: of each worker, at once. widths: of the hidden layers; the
    policy and the value share all but the last. steps: of each game, a gradient. discount: γ.
    longest: what a gradient's norm is cut to. returns, losses: how a rollout is judged, as
    `n_step_returns` and `actor_critic_losses` do.
    """

    def __init__(
        self,
        make: MakeGame,
        games: int = 8,
        widths: Sequence[int] = (64,),
        steps: int = 5,
        discount: float = 0.99,
        value_weight: float = 0.5,
        entropy_weight: float = 0.01,
        longest: float = 1.0,
        seed: int = 0,
        returns: Judge = n_step_returns,
        losses: Weigh = actor_critic_losses,
    ) -> None:
        self.make, self.games, self.seed = make, games, seed
        self.steps, self.discount = steps, discount
        self.value_weight, self.entropy_weight = value_weight, entropy_weight
        self.longest = longest
        self.judge, self.losses = returns, losses
        game = make(1, 0)
        self.best, self.worst = game.best, game.worst
        self.widths = (game.inputs, *widths, game.actions + 1)
        self.workers: dict[int, Worker] = {}

    def initial(self) -> Tensor:
        """As torch starts linear layers; the last with a hundredth of that, so that all is open."""
        random = torch.Generator().manual_seed(self.seed)
        parts, last = [], len(self.widths) - 2
        for layer, (inputs, outputs) in enumerate(pairwise(self.widths)):
            bound = inputs**-0.5 * (0.01 if layer == last else 1.0)
            parts.append(bound * (2 * torch.rand(outputs * inputs, generator=random) - 1))
            parts.append(torch.zeros(outputs))
        return torch.cat(parts)

    def rows(self, worker: int, step: int, batch: int) -> Tensor:
        """(2,): who plays, and for the how manieth time. batch: of no meaning here."""
        return torch.tensor([worker, step])

    def gradient(self, weights: Tensor, rows: Tensor) -> Tensor:
        """Go on playing by these weights. Returns: the gradient of the loss, (weights,)."""
        number, step = rows.tolist()
        return self.slope(weights, self.play(weights, number, step))

    def play(self, weights: Tensor, number: int, step: int) -> Rollout:
        """What a worker plays by these weights, for the how manieth time."""
        if step == 0:
            seed = ((self.seed + 1) * 1_000_003 + number) % 2**31
            self.workers[number] = Worker(
                self.make(self.games, seed), torch.Generator().manual_seed(seed)
            )
        worker = self.workers.get(number)
        if worker is None or worker.step != step:
            played = worker.step if worker else 0
            raise ValueError(f"Worker {number} has played {played} times, not {step}.")
        worker.step += 1
        policy = partial(self.policy, weights)
        return rollout(worker.game, policy, self.steps, self.discount, worker.random)

    def slope(self, weights: Tensor, played: Rollout, correct: Correct | None = None) -> Tensor:
        """The gradient of the loss, (weights,), cut to its longest. correct: see `loss`."""
        own = weights.detach().clone().requires_grad_()
        self.loss(own, played, correct).backward()
        assert own.grad is not None
        return own.grad * min(1.0, self.longest / (float(own.grad.norm()) + 1e-12))

    def gradients(self, weights: Tensor, rows: Tensor) -> Tensor:
        """Of several workers: weights (n, weights), rows (n, 2). Returns: (n, weights)."""
        return torch.stack([self.gradient(*each) for each in zip(weights, rows, strict=True)])

    def returns(self, weights: Tensor, games: int = 100, seed: int = 1_000_003) -> Tensor:
        """The sum of rewards in the first episode of each of so many games, (games,), float32.

        What is done is what the policy finds likeliest, and the games are the same ones always.
        """
        return first_returns(self.make(games, seed), partial(self.policy, weights))

    def error(self, weights: Tensor) -> float:
        """How far the mean return is from the best there is, in % of the worst one's distance."""
        best, worst = self.best, self.worst
        return 100 * (best - float(self.returns(weights).mean())) / (best - worst)

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
        losses = self.losses(logits, values, played.actions, targets, advantages)
        return Losses(*losses).total(self.value_weight, self.entropy_weight)

    def policy(self, weights: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (…, actions) and values (…), by flat weights: [W₁, b₁, W₂, …], tanh between."""
        start, out = 0, seen
        for inputs, outputs in pairwise(self.widths):
            middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
            out = torch.tanh(out) if start else out
            out = linear(out, weights[start:middle].view(outputs, inputs), weights[middle:end])
            start = end
        return out[..., :-1], out[..., -1]


class Worker:
    """A worker's games, its chance, and how often it has played."""

    def __init__(self, game: Game, random: torch.Generator) -> None:
        self.game, self.random, self.step = game, random, 0
