"""The digits dealt out to workers: every row once, and sentences for what cannot be."""

from __future__ import annotations

import pytest
import torch

from helpers.lessons.parameter_servers.experiments.sharded_digits import ShardedDigits


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("by_digit", [False, True])
def test_every_row_is_dealt_once(workers: int, by_digit: bool) -> None:
    task = ShardedDigits(workers, by_digit)
    rows = torch.cat(task.parts).sort().values
    assert torch.equal(rows, torch.arange(len(task.data.train_y)))


def test_a_batch_comes_from_the_workers_own_rows_with_any_seed() -> None:
    task = ShardedDigits(3, seed=2 * 10**9)
    batch = task.rows(2, step=7, batch=16)
    assert set(batch.tolist()) <= set(task.parts[2].tolist())
    assert torch.equal(batch, task.rows(2, step=7, batch=16))


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(ValueError, match="cannot be dealt to 100000 workers"):
        ShardedDigits(100_000)
    with pytest.raises(ValueError, match="dealt to 2 workers"):
        ShardedDigits(2).rows(2, 0, 4)
