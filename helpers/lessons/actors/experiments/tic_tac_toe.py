"""Tic-tac-toe against an opponent that puts its mark anywhere: many boards at once."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from helpers.lessons.actors.experiments.games import Played

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
