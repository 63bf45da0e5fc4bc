"""Games, rollouts and actors: against a slow referee, and the same again for the same seed."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.experiments.actor_settings import TIC_TAC_TOE
from helpers.lessons.actors.experiments.games import (
    Played,
    TicTacToe,
    first_returns,
    gumbel,
    rollout,
)
from helpers.lessons.parameter_servers.experiments.train import one_thread

ROWS = ((0, 1, 2), (3, 4, 5), (6, 7, 8))
COLUMNS = ((0, 3, 6), (1, 4, 7), (2, 5, 8))
DIAGONALS = ((0, 4, 8), (2, 4, 6))


def line(places: set[int]) -> bool:
    return any(places.issuperset(each) for each in (*ROWS, *COLUMNS, *DIAGONALS))


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
                assert reward == 0
                assert new_mine == mine
                assert len(new_theirs - theirs) == 1
                assert theirs < new_theirs
                assert not new_theirs & mine
                assert not line(new_theirs)
            else:  # lost, or the last place was theirs
                assert reward == -1 or len(mine | theirs) == 8
            if ended:
                assert new_mine == set()
                assert len(new_theirs) <= 1
            assert (
                set(free[board].nonzero()[:, 0].tolist()) == set(range(9)) - new_mine - new_theirs
            )
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


def test_an_action_is_drawn_as_often_as_the_policy_says() -> None:
    chances = torch.tensor([0.5, 0.3, 0.2, 0.0])
    noise = gumbel((20_000, 4), torch.Generator().manual_seed(0))
    drawn = torch.bincount((chances.log() + noise).argmax(-1), minlength=4) / 20_000
    assert drawn[3] == 0
    torch.testing.assert_close(drawn, chances, rtol=0, atol=0.01)


def test_one_thread_computes_and_the_number_of_before_comes_back() -> None:
    before = torch.get_num_threads()
    with pytest.raises(KeyError), one_thread():
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == before


def test_only_the_first_episode_counts() -> None:
    def policy(seen):
        return torch.zeros(*seen.shape[:-1], 2), seen[..., 0]

    assert first_returns(Counting(), policy).tolist() == [3, 2]


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
