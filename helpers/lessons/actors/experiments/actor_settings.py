"""The two games with what A3C needs to learn them: lesson, tests and benchmark share these."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from torch import Tensor

from helpers.lessons.actors.algorithms.losses import actor_critic_losses
from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.algorithms.rms_prop import annealed
from helpers.lessons.actors.experiments.actor_task import ActorTask, Judge, Weigh
from helpers.lessons.actors.experiments.games import CartPole, Game, TicTacToe
from helpers.lessons.parameter_servers.experiments.train import one_thread


def not_lost(returns: Tensor) -> float:
    """The share of games that were won or drawn, in %."""
    return 100 * float((returns >= 0).double().mean())


def mean_return(returns: Tensor) -> float:
    """The mean sum of an episode's rewards."""
    return float(returns.double().mean())


class Setting(NamedTuple):
    """A game, and how it is learned. Change one thing by `TIC_TAC_TOE._replace(updates=300)`.

    make: given how many games are to run at once, and a seed. games: of each actor at once. steps:
    of each game for a gradient. updates: made by all actors together. rate: of RMSProp, falling to
    0 in a straight line. longest: what a gradient's norm is cut to. goal: the score to reach, in
    `unit`, over `judged` games. widths: of the hidden layers.
    """

    name: str
    make: Callable[[int, int], Game]
    games: int
    steps: int
    updates: int
    rate: float
    discount: float
    scored: Callable[[Tensor], float]
    goal: float
    unit: str
    judged: int
    widths: tuple[int, ...] = (64,)
    entropy_weight: float = 0.01
    longest: float = 0.5

    @property
    def steps_per_update(self) -> int:
        """How many steps are played for one gradient."""
        return self.games * self.steps

    def task(
        self,
        seed: int = 0,
        returns: Judge = n_step_returns,
        losses: Weigh = actor_critic_losses,
    ) -> ActorTask:
        """Gradients from games."""
        return ActorTask(self, seed, returns, losses)

    def rates(self) -> Callable[[int], float]:
        """The learning rate by the number of updates made before."""
        return partial(annealed, self.rate, self.updates)

    def score(self, weights: Tensor, games: int | None = None) -> float:
        """How good the likeliest actions are, in the first episodes of so many games, or `judged`.

        The games are always the same ones, and none that was trained on.
        """
        with one_thread():
            return self.scored(self.task().returns(weights, games or self.judged))


TIC_TAC_TOE = Setting(
    "tic-tac-toe", TicTacToe, games=16, steps=5, updates=2500, rate=0.01, discount=0.95,
    scored=not_lost, goal=90.0, unit="% of games not lost", judged=1000, widths=(128,),
    entropy_weight=0.03,
)  # fmt: skip
CART_POLE = Setting(
    "CartPole", CartPole, games=16, steps=8, updates=1000, rate=0.006, discount=0.98,
    scored=mean_return, goal=400.0, unit="steps a pole stands", judged=200,
)  # fmt: skip
