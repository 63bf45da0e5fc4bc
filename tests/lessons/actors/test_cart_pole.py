"""Carts: each moves as gymnasium's single one; cut episodes count as a slow loop has it."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch

from helpers.lessons.actors.experiments.actor_settings import CART_POLE
from helpers.lessons.actors.experiments.games import CartPole, first_returns


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


def test_a_pole_that_falls_at_the_last_step_is_not_cut() -> None:
    carts = CartPole(1, 0)
    carts.carts.steps[:] = 499
    carts.carts.state[:, 0] = (0.0, 0.0, 0.25, 3.0)  # beyond 12°: it has fallen
    played = carts.step(torch.tensor([0]))
    assert (bool(played.ended[0]), bool(played.cut[0])) == (True, False)


def test_chance_alone_does_not_reach_the_goal() -> None:
    assert CART_POLE.score(CART_POLE.task().initial(), games=20) < 0.2 * CART_POLE.goal
