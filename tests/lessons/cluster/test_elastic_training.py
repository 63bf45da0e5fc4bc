"""The training that kills are tried on: the same to the last bit, whoever computes what."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import helpers
from helpers.lessons.cluster.experiments.elastic_training import (
    BATCH,
    Training,
    on_ranks,
)

STEPS = 12


def alone(steps: int, seed: int = 0) -> list[float]:
    training, losses = Training(seed), []
    for _ in range(steps):
        training.update(training.gradients(0, 1))
        losses.append(training.loss())
    return losses


@pytest.fixture(autouse=True)
def as_many_threads_as_before() -> object:
    threads = torch.get_num_threads()
    yield None
    torch.set_num_threads(threads)


@pytest.mark.real
@pytest.mark.parametrize("ranks", [3, pytest.param(5, marks=pytest.mark.thorough)])
def test_every_number_of_ranks_gives_the_same_bits(ranks: int) -> None:
    """Over gloo, with parts that do not divide evenly on 3 and 5 ranks."""
    for losses in helpers.run(on_ranks, STEPS, ranks=ranks, device="cpu", show=False):
        assert losses == alone(STEPS)


@settings(max_examples=15, deadline=None)
@given(sizes=st.lists(st.integers(1, 11), min_size=5, max_size=5), seed=st.integers(0, 99))
def test_the_number_of_ranks_may_change_at_every_step(sizes: list[int], seed: int) -> None:
    """Tables are added in any order, as an all-reduce may; more ranks than parts are no harm."""
    training, chance = Training(), random.Random(seed)
    losses = []
    for size in sizes:
        tables = [training.gradients(rank, size) for rank in range(size)]
        chance.shuffle(tables)
        training.update(torch.stack(tables).sum(0))
        losses.append(training.loss())
    assert losses == alone(len(sizes))


def test_it_is_sgd_with_momentum_on_the_whole_batch() -> None:
    """Held against torch's own optimizer and autograd, without any parts."""
    training = Training()
    weights = training.weights.clone().requires_grad_()
    sgd = torch.optim.SGD([weights], lr=0.1, momentum=0.9)
    for step in range(STEPS):
        rows = training.task.rows(0, step, BATCH)
        weights.grad = training.task.gradient(weights.detach(), rows)
        sgd.step()
        training.update(training.gradients(0, 1))
        torch.testing.assert_close(training.weights, weights.detach(), rtol=0, atol=1e-12)
    assert alone(60)[-1] < 0.5 * Training().loss()
