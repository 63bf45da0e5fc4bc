"""The best of many is not as good as it looks: its validation score, beside that on new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.search_models import Models


class Chosen(NamedTuple):
    """The best of so many trials, on average of many draws, as the share of rows named rightly.

    validation: on the rows that it was chosen by. test: on others.
    """

    trials: int
    validation: float
    test: float

    @property
    def bias(self) -> float:
        """By how much the score that chose it flatters it."""
        return self.validation - self.test


def chosen(
    right: Sequence[Sequence[bool]] | np.ndarray,
    counts: Sequence[int],
    rows: int,
    draws: int = 400,
    seed: int = 0,
) -> list[Chosen]:
    """What choosing among 1, 2, 4 … trials does to the score of the chosen one.

    right: (trials, held-out rows), whether each trial names each row rightly. In each draw `rows`
    rows at random choose, the rest of them judge; and of the trials, so many at random are there to
    choose from. Of equal ones the first is chosen. Raises ValueError where there are not as many
    trials or rows.
    """
    table = np.asarray(right, dtype=np.float64)
    trials, held = table.shape
    if not 1 <= rows < held or not all(1 <= count <= trials for count in counts):
        raise ValueError(
            f"Of {trials} trials on {held} rows, 1 to {trials} can be chosen from, by 1 to "
            f"{held - 1} rows."
        )
    drawn = np.random.default_rng(seed)
    scores = np.empty((draws, len(counts), 2))
    for draw in scores:
        order = drawn.permutation(held)
        mine, others = table[:, order[:rows]].mean(1), table[:, order[rows:]].mean(1)
        among = drawn.permutation(trials)
        best = [among[np.argmax(mine[among[:count]])] for count in counts]
        draw[:] = np.stack([mine[best], others[best]], axis=1)
    means = scores.mean(axis=0).tolist()
    return [Chosen(count, *each) for count, each in zip(counts, means, strict=True)]


def alike(trials: int, rows: int, accuracy: float, seed: int = 0) -> np.ndarray:
    """Trials that are all equally good, each right on a row by its own chance: (trials, rows).

    Here whatever the best of many seems to have gained is luck.
    """
    return np.random.default_rng(seed).random((trials, rows)) < accuracy


def held_out(models: Models, trials: Sequence[int], steps: int) -> np.ndarray:
    """Whether `search_models.Models` trials, trained for so many steps, name each held-out row.

    Returns: (trials, validation and test rows) of bool. Neither was trained on.
    """
    table = []
    for trial in trials:
        _, state = models.train(Job(trial, 0, steps))
        table.append(models.right(trial, state, "valid") + models.right(trial, state, "test"))
    return np.array(table)
