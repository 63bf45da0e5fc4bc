"""What a game looks like to an actor, and playing it for some steps by a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import torch
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


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute by one torch thread: two would wait for each other longer than such nets take.

    Also, the same number of threads gives the same bits.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def masked(logits: Tensor, legal: Tensor) -> Tensor:
    """−∞ for what may not be done."""
    return logits.masked_fill(~legal, -torch.inf)
