"""Carts: each moves as gymnasium's single one; cut episodes count as a slow loop has it."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch

from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.experiments.actor_settings import CART_POLE
from helpers.lessons.actors.experiments.cart_pole import CartPole
from helpers.lessons.actors.experiments.games import Played, Policy, first_returns, rollout


def upright(seen: torch.Tensor) -> torch.Tensor:
    """Push to where the pole falls: an answer by hand, which stands for 500 steps."""
    place, speed, angle, turn = seen.T
    return (angle + 0.5 * turn + 0.05 * place + 0.1 * speed > 0).long()


def policy(seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mostly upright's; the value is the sum of what is seen."""
    better = upright(seen.reshape(-1, 4)).view(seen.shape[:-1])
    return 3.0 * torch.nn.functional.one_hot(better, 2), seen.sum(-1)


@pytest.mark.parametrize("seed", [0, 1])
def test_each_cart_moves_as_gymnasium_s_single_one(seed: int) -> None:
    carts, single = CartPole(3, seed), gymnasium.make("CartPole-v1").unwrapped
    random = torch.Generator().manual_seed(seed)
    ends = 0
    single.reset()
    for _ in range(200):
        before = carts.carts.state.T.copy()
        actions = torch.randint(2, (3,), generator=random)
        played = carts.step(actions)
        for cart in range(3):
            single.state, single.steps_beyond_terminated = before[cart], None
            seen, reward, ended, _, _ = single.step(int(actions[cart]))
            np.testing.assert_allclose(played.last[cart], seen, rtol=1e-6)
            assert float(played.rewards[cart]) == reward == 1
            assert bool(played.ended[cart]) == ended
            ends += ended
            after = carts.observe()[0][cart]
            if ended:  # begun anew in the same step
                assert bool((after.abs() <= 0.05).all())
            else:
                assert torch.equal(after, played.last[cart])
    assert ends > 10


def test_an_episode_is_cut_after_500_steps_and_not_before() -> None:
    carts = CartPole(2, 5)
    for step in range(1, 521):
        played = carts.step(upright(carts.observe()[0]))
        assert not played.ended.any()
        assert played.cut.tolist() == [step == 500] * 2
    assert first_returns(CartPole(4, 1), policy).tolist() == [500] * 4


def test_the_same_seed_begins_alike_and_another_otherwise() -> None:
    first, again, other = (CartPole(2, seed).observe()[0] for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


class Recorded:
    """A game of carts that keeps what each step brought."""

    inputs, actions = 4, 2

    def __init__(self, game: CartPole) -> None:
        self.game, self.kept = game, list[tuple[torch.Tensor, Played]]()

    def observe(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.game.observe()

    def step(self, actions: torch.Tensor) -> Played:
        seen = self.game.observe()[0]
        played = self.game.step(actions)
        self.kept.append((seen, played))
        return played


def by_hand(kept: list[tuple[torch.Tensor, Played]], value: Policy, discount: float, cart: int,
            start: int, after: torch.Tensor) -> float:  # fmt: skip
    """What a step was worth: forward, one reward at a time, and a value where playing stopped."""
    total, factor = 0.0, 1.0
    for _, played in kept[start:]:
        total += factor * float(played.rewards[cart])
        factor *= discount
        if played.ended[cart]:
            return total
        if played.cut[cart]:  # the pole stood: it would have gone on from here
            return total + factor * float(value(played.last[cart][None])[1][0])
    return total + factor * float(value(after[cart][None])[1][0])


def test_the_returns_of_cut_and_ended_episodes_are_those_of_a_slow_loop() -> None:
    def by_chance(seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.zeros(*seen.shape[:-1], 2), 10 + seen.sum(-1)

    game = Recorded(CartPole(6, 2))
    game.game.carts.steps[:] = [0, 498, 495, 492, 470, 0]  # some are soon cut off
    played = rollout(game, by_chance, 40, 0.9, torch.Generator().manual_seed(0))
    found = n_step_returns(played.rewards, played.discounts, by_chance(played.seen[-1])[1])
    for cart in range(6):
        for step in range(40):
            wanted = by_hand(game.kept, by_chance, 0.9, cart, step, played.seen[-1])
            assert float(found[step, cart]) == pytest.approx(wanted, abs=1e-4)
    assert sum(int(each.cut.sum()) for _, each in game.kept) >= 3
    assert sum(int(each.ended.sum()) for _, each in game.kept) >= 3


def test_a_pole_that_falls_at_the_last_step_is_not_cut() -> None:
    carts = CartPole(1, 0)
    carts.carts.steps[:] = 499
    carts.carts.state[:, 0] = (0.0, 0.0, 0.25, 3.0)  # beyond 12°: it has fallen
    played = carts.step(torch.tensor([0]))
    assert (bool(played.ended[0]), bool(played.cut[0])) == (True, False)


def test_chance_alone_does_not_reach_the_goal() -> None:
    assert CART_POLE.score(CART_POLE.task().initial(), games=20) < 0.2 * CART_POLE.goal
