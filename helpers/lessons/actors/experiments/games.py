"""What a game looks like to an actor, playing it for some steps by a policy, and the two games.

Tic-tac-toe is played against an opponent that puts its mark anywhere; CartPole is gymnasium's: push
a cart left or right so that its pole stays up. Many boards, or carts, are played at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from torch import Tensor


class Played(NamedTuple):
    """What a step brought, for each of the games that run at once.

    rewards: (games,), float32. ended: (games,), bool: over, and begun anew. cut: (games,), bool:
    begun anew although it might have gone on, as CartPole after 500 steps; last: (games, inputs),
    what was seen before that. None where games are never cut.
    """

    rewards: Tensor
    ended: Tensor
    cut: Tensor | None = None
    last: Tensor | None = None


class Game(Protocol):
    """Some games of one kind that run at once.

    inputs, actions: how many numbers are seen, and how many things can be done.
    """

    inputs: int
    actions: int

    def observe(self) -> tuple[Tensor, Tensor]:
        """What is seen, (games, inputs), float32, and what may be done, (games, actions), bool."""

    def step(self, actions: Tensor) -> Played:
        """Do this, (games,), int64, in each."""


class Rollout(NamedTuple):
    """Some steps of all games: what was seen, could be done, was done, and came of it.

    seen: (steps + 1, games, inputs); legal: (steps + 1, games, actions); the last of both are of
    the state after the last step. actions, logs, rewards, discounts: (steps, games). logs: log μ(a)
    of the policy that played.
    """

    seen: Tensor
    legal: Tensor
    actions: Tensor
    logs: Tensor
    rewards: Tensor
    discounts: Tensor


Policy = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Of what is seen (…, inputs): logits (…, actions) and values (…)."""


def rollout(
    game: Game, policy: Policy, steps: int, discount: float, random: torch.Generator
) -> Rollout:
    """Go on with the games for some steps, doing what the policy draws.

    discount: γ. An episode that was cut off goes on in its value: the reward of its last step has
    γ·V(last) added, and its discount is 0 as at an end.
    """
    seen, legal = game.observe()
    states, masks, acts, logs, rewards, discounts = [seen], [legal], [], [], [], []
    noise = gumbel((steps, *legal.shape), random)
    with torch.no_grad():
        for step in range(steps):
            scores = masked(policy(seen)[0], legal).log_softmax(-1)
            actions = (scores + noise[step]).argmax(-1)
            played = game.step(actions)
            reward = played.rewards
            over = played.ended
            if played.cut is not None and played.last is not None and bool(played.cut.any()):
                reward = reward + discount * policy(played.last)[1] * played.cut
                over = over | played.cut
            seen, legal = game.observe()
            states.append(seen)
            masks.append(legal)
            acts.append(actions)
            logs.append(scores.gather(1, actions[:, None])[:, 0])
            rewards.append(reward)
            discounts.append(discount * (~over))
    stacked = (torch.stack(each) for each in (states, masks, acts, logs, rewards, discounts))
    return Rollout(*stacked)


def gumbel(shape: Sequence[int], random: torch.Generator) -> Tensor:
    """Noise with which the largest of log π(a) + noise is an action drawn from π.

    All draws of a rollout are made at once, which is quicker than a `torch.multinomial` a step.
    Source: Gumbel, "Statistical Theory of Extreme Values" (1954); known as the Gumbel-max trick.
    """
    return -torch.empty(tuple(shape)).exponential_(generator=random).log_()


def first_returns(game: Game, policy: Policy) -> Tensor:
    """The sum of rewards in each game's first episode, (games,), doing what is likeliest.

    Only the first counts: of those that end within some time, short ones would be too many.
    """
    seen, legal = game.observe()
    total, going = torch.zeros(len(seen)), torch.ones(len(seen), dtype=torch.bool)
    with torch.no_grad():
        while bool(going.any()):
            played = game.step(masked(policy(seen)[0], legal).argmax(-1))
            total += played.rewards * going
            going &= ~(played.ended if played.cut is None else played.ended | played.cut)
            seen, legal = game.observe()
    return total


def masked(logits: Tensor, legal: Tensor) -> Tensor:
    """−∞ for what may not be done."""
    return logits.masked_fill(~legal, -torch.inf)


LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
)
MINE, THEIRS = 1, -1


class TicTacToe:
    """So many boards; one that is over is empty again in the same step.

    A win brings 1, a defeat −1, a draw 0. The opponent begins on every second board, by chance.
    seed: of the opponent. What is seen of a board are 18 numbers: 1 where a mark is mine, then 1
    where one is theirs.
    """

    inputs, actions = 18, 9

    def __init__(self, boards: int, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.boards = np.zeros((boards, 9), dtype=np.int8)
        self._begin(np.ones(boards, dtype=bool))

    def observe(self) -> tuple[Tensor, Tensor]:
        """What is seen, (boards, 18), float32; and where a mark may be put, (boards, 9), bool."""
        seen = np.concatenate([self.boards == MINE, self.boards == THEIRS], axis=1)
        return torch.from_numpy(seen.astype(np.float32)), torch.from_numpy(self.boards == 0)

    def step(self, actions: Tensor) -> Played:
        """Put a mark on every board, (boards,), and let the opponent answer.

        Raises ValueError where there is a mark already.
        """
        places, all_boards = actions.numpy(), np.arange(len(self.boards))
        taken = self.boards[all_boards, places] != 0
        if taken.any():
            board = int(taken.argmax())
            raise ValueError(f"On board {board}, place {places[board]} has a mark already.")
        self.boards[all_boards, places] = MINE
        won = self._has_line(MINE)
        self._answer(~won & ~self._full())
        lost = self._has_line(THEIRS)
        ended = won | lost | self._full()
        rewards = won.astype(np.float32) - lost
        self._begin(ended)
        return Played(torch.from_numpy(rewards), torch.from_numpy(ended))

    def _begin(self, which: np.ndarray) -> None:
        self.boards[which] = 0
        self._answer(which & (self.random.random(len(which)) < 0.5))

    def _answer(self, which: np.ndarray) -> None:
        """The opponent's mark, on these boards; every free place is as likely."""
        wishes = np.where(self.boards == 0, self.random.random(self.boards.shape), -1.0)
        self.boards[which, wishes.argmax(1)[which]] = THEIRS

    def _full(self) -> np.ndarray:
        return np.asarray((self.boards != 0).all(1))

    def _has_line(self, who: int) -> np.ndarray:
        return np.asarray((self.boards[:, LINES] == who).all(2).any(1))


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
