"""Lesson 05's figures and what they are drawn from: dealt digits, AlexNet's bytes, full links."""

from __future__ import annotations

import pytest
import torch

import helpers
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import SoftSync
from helpers.lessons.parameter_servers.exercises.saturation import reference as throughput
from helpers.lessons.parameter_servers.experiments.alexnet import tensor_bytes
from helpers.lessons.parameter_servers.experiments.digits_task import ShardedDigits
from helpers.lessons.parameter_servers.figures.servers_knobs import draw_servers, round_parts


@pytest.mark.parametrize("by_digit", [False, True])
def test_every_row_is_dealt_to_one_worker(by_digit: bool) -> None:
    task = ShardedDigits(3, by_digit, seed=2 * 10**9)
    together = torch.cat(task.parts)
    assert torch.equal(together.sort().values, torch.arange(len(task.data.train_y)))
    for worker in range(3):
        batch = task.rows(worker, step=7, batch=32)
        assert set(batch.tolist()) <= set(task.parts[worker].tolist())
        assert torch.equal(batch, task.rows(worker, step=7, batch=32))
        assert not torch.equal(batch, task.rows(worker, step=8, batch=32))


def test_rows_that_cannot_be_dealt_are_told() -> None:
    with pytest.raises(ValueError, match="cannot be dealt to 100000 workers"):
        ShardedDigits(100_000)
    with pytest.raises(ValueError, match="dealt to 2 workers"):
        ShardedDigits(2).rows(2, 0, 4)


def test_alexnet_has_the_bytes_that_are_published() -> None:
    sizes = tensor_bytes()
    assert sum(sizes.values()) == 4 * 61_100_840
    assert max(sizes, key=lambda name: sizes[name]) == "fc6"


@pytest.mark.parametrize(("workers", "servers"), [(1, 1), (8, 1), (2, 4), (8, 4)])
def test_the_formula_is_what_the_clock_counts(workers: int, servers: int) -> None:
    seconds = 400.0
    run = helpers.train(
        lambda weights: SoftSync(weights, Sgd(0.01), workers, splits=workers),
        workers=workers, servers=servers, seconds=seconds, payload=244e6, bandwidth=125e6,
    )  # fmt: skip
    wanted = throughput(workers, servers, 244e6, 1.0, 125e6)
    # What is still on its way at the end is the only difference.
    assert abs(run.updates - wanted * seconds) <= workers + 4


def test_a_round_is_what_its_parts_add_up_to() -> None:
    for workers, servers in ((1, 1), (8, 1), (64, 16)):
        parts = round_parts(workers, servers, 1.0, 244.0, throughput)
        whole = workers / throughput(workers, servers, 244e6, 1.0, 125e6)
        assert sum(parts) == pytest.approx(whole) and min(parts) >= 0
    figure = draw_servers(8, 1, 1.0, 244.0, throughput)
    assert "0.51" in figure.axes[0].get_title(loc="left")
