"""Games, carts and rollouts: against a slow referee, gymnasium's single cart, and autograd."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.experiments.actor_settings import TIC_TAC_TOE
from helpers.lessons.actors.experiments.games import (
    CartPole,
    Played,
    TicTacToe,
    first_returns,
    gumbel,
    rollout,
)

LINES = ("012", "345", "678", "036", "147", "258", "048", "246")


def line(places: set[int]) -> bool:
    return any(places.issuperset(map(int, each)) for each in LINES)


def marks(seen: torch.Tensor) -> tuple[set[int], set[int]]:
    return set(seen[:9].nonzero()[:, 0].tolist()), set(seen[9:].nonzero()[:, 0].tolist())


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_each_board_is_refereed(seed: int, boards: int) -> None:
    game, random = TicTacToe(boards, seed), torch.Generator().manual_seed(seed)
    seen, legal = game.observe()
    for _ in range(12):
        actions = torch.multinomial(legal.float(), 1, generator=random)[:, 0]
        played = game.step(actions)
        after, free = game.observe()
        for board in range(boards):
            mine, theirs = marks(seen[board])
            mine = mine | {int(actions[board])}
            new_mine, new_theirs = marks(after[board])
            reward, ended = float(played.rewards[board]), bool(played.ended[board])
            if line(mine):
                assert (reward, ended) == (1, True)
            elif len(mine | theirs) == 9:
                assert (reward, ended) == (0, True)
            elif not ended:
                assert reward == 0 and new_mine == mine
                assert len(new_theirs - theirs) == 1 and theirs < new_theirs
                assert not new_theirs & mine and not line(new_theirs)
            else:  # lost, or the last place was theirs
                assert reward == -1 or len(mine | theirs) == 8
            if ended:
                assert new_mine == set() and len(new_theirs) <= 1
            left = set(free[board].nonzero()[:, 0].tolist())
            assert left == set(range(9)) - new_mine - new_theirs
        seen, legal = after, free


def test_a_mark_on_a_mark_is_told() -> None:
    game = TicTacToe(2, 0)
    game.step(torch.tensor([0, 0]) if game.observe()[1][:, 0].all() else torch.tensor([8, 8]))
    taken = (~game.observe()[1]).float().argmax(1)
    with pytest.raises(ValueError, match=r"On board 0, place \d has a mark already"):
        game.step(taken)


class Counting:
    """A game that ends after 3 steps and is cut off after 2 in the second of two; each brings 1."""

    inputs, actions = 1, 2

    def __init__(self, games: int = 2, seed: int = 0) -> None:
        self.steps = torch.zeros(games)

    def observe(self):
        return self.steps[:, None].clone(), torch.ones(len(self.steps), 2, dtype=torch.bool)

    def step(self, actions):
        self.steps += 1
        last = self.steps[:, None].clone()
        ended = self.steps == 3
        cut = torch.zeros_like(ended)
        cut[1] = self.steps[1] == 2
        self.steps[ended | cut] = 0
        return Played(torch.ones(len(self.steps)), ended & ~cut, cut, last)


def test_an_episode_that_was_cut_off_goes_on_in_its_value() -> None:
    def policy(seen):
        return torch.zeros(*seen.shape[:-1], 2), 10 * seen[..., 0]  # the value of state n is 10 n

    played = rollout(Counting(), policy, 4, 0.5, torch.Generator())
    assert played.rewards.tolist() == [[1, 1], [1, 1 + 0.5 * 20], [1, 1], [1, 1 + 0.5 * 20]]
    assert played.discounts.tolist() == [[0.5, 0.5], [0.5, 0], [0, 0.5], [0.5, 0]]
    assert played.seen[:, :, 0].tolist() == [[0, 0], [1, 1], [2, 0], [0, 1], [1, 0]]
    returns = n_step_returns(played.rewards, played.discounts, policy(played.seen[-1])[1])
    assert returns[0].tolist() == [1.75, 1 + 0.5 * 11]
    assert returns[3].tolist() == [1 + 0.5 * 10, 11]
    assert first_returns(Counting(), policy).tolist() == [3, 2]  # the first episodes alone


def test_an_action_is_drawn_as_often_as_the_policy_says() -> None:
    chances = torch.tensor([0.5, 0.3, 0.2, 0.0])
    noise = gumbel((20_000, 4), torch.Generator().manual_seed(0))
    drawn = torch.bincount((chances.log() + noise).argmax(-1), minlength=4) / 20_000
    assert drawn[3] == 0
    torch.testing.assert_close(drawn, chances, rtol=0, atol=0.01)


def test_a_gradient_is_autograd_s_of_the_whole_loss_and_is_cut() -> None:
    setting = TIC_TAC_TOE._replace(games=3)
    weights = setting.task().initial()
    whole = setting._replace(longest=1e9).task().gradient(weights, 0, 0)
    short = setting._replace(longest=0.01).task().gradient(weights, 0, 0)
    torch.testing.assert_close(short, whole * 0.01 / whole.norm())


def test_functions_of_one_s_own_judge_and_weigh_a_rollout() -> None:
    seen = []

    def nothing(rewards, discounts, bootstrap):
        seen.append(bootstrap)
        return torch.zeros_like(rewards)

    def as_tuple(logits, values, actions, targets, advantages):
        assert not targets.any()
        return logits.sum() * 0, values.sum(), values.sum() * 0

    setting = TIC_TAC_TOE._replace(games=3, longest=1e9)
    task = setting.task(returns=nothing, losses=as_tuple)
    found = task.gradient(task.initial(), 0, 0)
    assert len(seen) == 1
    assert float(found[-1]) == pytest.approx(0.5 * 3 * setting.steps)  # the value's own bias
    assert not found[-10:-1].any()


# --- carts ----------------------------------------------------------------------------------------


def upright(seen: torch.Tensor) -> torch.Tensor:
    """Push to where the pole falls: an answer by hand, which stands for 500 steps."""
    place, speed, angle, turn = seen.T
    return (angle + 0.5 * turn + 0.05 * place + 0.1 * speed > 0).long()


def keeps_up(seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
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
    assert first_returns(CartPole(4, 1), keeps_up).tolist() == [500] * 4


def test_a_pole_that_falls_at_the_last_step_is_not_cut() -> None:
    carts = CartPole(1, 0)
    carts.carts.steps[:] = 499
    carts.carts.state[:, 0] = (0.0, 0.0, 0.25, 3.0)  # beyond 12°: it has fallen
    played = carts.step(torch.tensor([0]))
    assert (bool(played.ended[0]), bool(played.cut[0])) == (True, False)
