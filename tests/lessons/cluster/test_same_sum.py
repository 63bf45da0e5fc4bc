"""The same bits on any number of ranks, against plain additions in order."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.cluster.algorithms.same_sum import ordered_sum, own_rows, sum_of_rows


def gradients(parts: int, length: int, dtype: torch.dtype, seed: int = 0) -> Tensor:
    """Numbers of many magnitudes, whose sum in any other order has other bits."""
    torch.manual_seed(seed)
    sizes = 10.0 ** torch.randint(-8, 8, (parts, length))
    return (torch.randn(parts, length, dtype=torch.float64) * sizes).to(dtype)


def one_after_the_other(table: Tensor) -> Tensor:
    """Python's floats for float64; torch's own additions of single numbers for float32."""
    columns = []
    for column in table.T:
        total = torch.zeros((), dtype=table.dtype)
        for number in column:
            total = total + number
        columns.append(total)
    return torch.stack(columns)


def on_ranks(comm: Comm, table: Tensor, owner: list[int]) -> Any:
    mine = {part: table[part].clone() for part, rank in enumerate(owner) if rank == comm.rank}
    before = {part: gradient.clone() for part, gradient in mine.items()}
    like = torch.full_like(table[0], 7.0)
    total = ordered_sum(comm, mine, len(table), like)
    assert mine.keys() == before.keys()
    assert all(torch.equal(mine[part], before[part]) for part in mine)
    assert torch.equal(like, torch.full_like(like, 7.0))
    return total


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize(("parts", "length"), [(8, 13), (3, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_rank_has_the_same_bits(
    ranks: int, parts: int, length: int, dtype: torch.dtype
) -> None:
    table = gradients(parts, length, dtype)
    want = one_after_the_other(table)
    owner = [part % ranks for part in range(parts)]
    for got in helpers.run(on_ranks, table, owner, engine="virtual", ranks=ranks, show=False):
        assert got.dtype == dtype and torch.equal(got, want)


def test_the_order_matters_at_all() -> None:
    table = gradients(8, 13, torch.float64)
    assert not torch.equal(sum_of_rows(table), sum_of_rows(table.flip(0)))
    assert sum_of_rows(torch.tensor([[1e16], [1.0], [-1e16]], dtype=torch.float64)).item() == 0.0


def test_what_does_not_fit_is_told() -> None:
    like = torch.zeros(3)
    with pytest.raises(ValueError, match=r"There is no part 4: they are 0 to 3\."):
        own_rows({4: torch.ones(3)}, 4, like)
    with pytest.raises(ValueError, match=r"Part 0 is \(1,\) in torch.float32, but"):
        own_rows({0: torch.ones(1)}, 4, like)
    with pytest.raises(ValueError, match=r"Part 1 is \(3,\) in torch.float64, but"):
        own_rows({1: torch.ones(3, dtype=torch.float64)}, 4, like)
