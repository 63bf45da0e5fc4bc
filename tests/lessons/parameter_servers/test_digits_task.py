"""The task's gradients beside autograd's, and the rows that workers train on."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS
from helpers.lessons.data_parallel.experiments.models import mlp
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask

WIDTHS = [(PIXELS, CLASSES), (PIXELS, 9, CLASSES), (PIXELS, 12, 7, CLASSES)]


def by_autograd(task: DigitsTask, weights: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """The gradient of the same loss by torch itself."""
    model = mlp(task.widths, task.dtype)
    torch.nn.utils.vector_to_parameters(weights, model.parameters())
    loss = functional.cross_entropy(model(task.data.train_x[rows]), task.data.train_y[rows])
    loss.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def somewhere(task: DigitsTask, count: int) -> torch.Tensor:
    """Weights of so many workers, each with its own."""
    random = torch.Generator().manual_seed(1)
    start = task.initial()
    noise = torch.randn(count, len(start), generator=random, dtype=torch.float64)
    return start + 0.1 * noise.to(task.dtype)


@pytest.mark.parametrize(("widths", "batch"), [*zip(WIDTHS, [1, 32, 5], strict=True)])
def test_gradients_are_autograds(widths, batch):
    task = DigitsTask(widths, torch.float64)
    weights = somewhere(task, 4)
    rows = torch.stack([task.rows(worker, 3, batch) for worker in range(4)])
    together = task.gradients(weights, rows)
    for worker in range(4):
        expected = by_autograd(task, weights[worker], rows[worker])
        torch.testing.assert_close(together[worker], expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_gradient_has_the_same_bits_alone_and_among_others(dtype):
    # On one thread, as on real ranks: so the clock may compute many at once.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        task = DigitsTask(dtype=dtype)
        weights = somewhere(task, 9)
        rows = torch.stack([task.rows(worker, 0, 32) for worker in range(9)])
        alone = [task.gradient(*pair) for pair in zip(weights, rows, strict=True)]
        for count in (2, 3, 9):
            together = task.gradients(weights[:count], rows[:count])
            assert torch.equal(together, torch.stack(alone[:count]))
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("batch", [1, 7, 32, 1438])
def test_an_epoch_has_each_row_once(batch):
    task = DigitsTask(WIDTHS[0])
    total = len(task.data.train_x)
    count = total // batch
    epochs = []
    for epoch in range(2):
        steps = range(epoch * count, (epoch + 1) * count)
        epochs.append(torch.cat([task.rows(2, step, batch) for step in steps]))
        assert len(epochs[-1].unique()) == count * batch  # the rest fills no batch
        assert epochs[-1].min() >= 0 and epochs[-1].max() < total
    assert not torch.equal(*epochs)


def test_every_worker_has_an_order_of_its_own_and_always_the_same():
    task = DigitsTask(WIDTHS[0], seed=5)
    orders = [task.rows(worker, 0, 1438) for worker in range(4)]
    for worker, order in enumerate(orders):
        # Whatever was asked for before, in whatever order.
        assert torch.equal(task.rows(worker, 0, 1438), order)
        assert torch.equal(DigitsTask(WIDTHS[0], seed=5).rows(worker, 0, 1438), order)
        assert not torch.equal(DigitsTask(WIDTHS[0], seed=6).rows(worker, 0, 1438), order)
        assert sum(torch.equal(order, other) for other in orders) == 1
    for batch in (0, -1, 1439):
        with pytest.raises(ValueError, match="A batch has 1 to"):
            task.rows(0, 0, batch)


def test_plain_sgd_learns_and_what_diverges_has_an_error_of_100():
    task = DigitsTask(WIDTHS[0])
    weights = task.initial()
    before, loss = task.error(weights), task.loss(weights)
    for step in range(200):
        weights = weights - 0.5 * task.gradient(weights, task.rows(0, step, 32))
    assert task.error(weights) < 10 < before and task.loss(weights) < loss / 2
    assert task.error(weights * float("nan")) == 100
    assert task.error(weights + float("inf")) == 100
