"""Hogwild on torch's shared memory: what one worker gives, what several do, who is named."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import helpers
from helpers.lessons.asynchronous.experiments.torch_hogwild import hogwild, lost
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask

pytestmark = pytest.mark.real

SMALL = DigitsTask((64, 10))


def test_one_worker_is_plain_sgd_bit_for_bit() -> None:
    task = DigitsTask((64, 16, 10), dtype=torch.float64)
    (alone,) = helpers.run(hogwild, task, 40, 0.1, ranks=1)
    weights = nn.Parameter(task.initial())
    optimizer = torch.optim.SGD([weights], lr=0.1)
    for step in range(40):
        weights.grad = task.gradient(weights.detach(), task.rows(0, step, 32))
        optimizer.step()
    assert alone.weights.numpy().tobytes() == weights.detach().numpy().tobytes()
    assert alone.updates == 40


def test_workers_train_one_set_of_weights() -> None:
    ranks = helpers.run(hogwild, SMALL, 301, 0.05, ranks=3)
    assert sum(rank.updates for rank in ranks) == 301
    assert len({rank.weights.numpy().tobytes() for rank in ranks}) == 1
    assert SMALL.loss(ranks[0].weights) < 0.5 * SMALL.loss(SMALL.initial())


def test_nothing_is_lost_where_one_adds_or_all_add_elsewhere() -> None:
    assert list(helpers.run(lost, 100, 50, 100, ranks=1)) == [(0, 5000)]
    missing, made = helpers.run(lost, 1000, 200, 1000, ranks=2)[0]
    assert made == 400_000 and 0 <= missing < made
