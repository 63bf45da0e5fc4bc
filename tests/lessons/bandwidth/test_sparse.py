"""Sparse sums: equal to the dense ones, the same on every rank, with the rows' bytes alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.bandwidth.algorithms.sparse import sum_sparse

HEIGHT, WIDTH = 12, 3


def sums(comm: Comm, counts: list[int]) -> dict[str, Any]:
    """This rank's result, and its dense gradient."""
    torch.manual_seed(comm.rank)
    rows = torch.randperm(HEIGHT)[: counts[comm.rank]]
    values = torch.randn(len(rows), WIDTH, dtype=torch.float64)
    kept = rows.clone(), values.clone()
    union, total = sum_sparse(comm, rows, values)
    assert torch.equal(rows, kept[0]) and torch.equal(values, kept[1])
    dense = torch.zeros(HEIGHT, WIDTH, dtype=torch.float64)
    dense[rows] = values
    return {"rows": union, "sums": total, "dense": dense}


@pytest.mark.parametrize("counts", [[4], [0], [3, 5], [0, 0, 2], [12, 1, 0, 7, 3]], ids=str)
def test_sums_are_the_dense_ones(engine: str, counts: list[int]) -> None:
    results = helpers.run(sums, counts, ranks=len(counts), engine=engine)
    wanted = sum(one["dense"] for one in results)
    for one in results:
        dense = torch.zeros(HEIGHT, WIDTH, dtype=torch.float64)
        dense[one["rows"]] = one["sums"]
        torch.testing.assert_close(dense, wanted)
        assert one["rows"].tolist() == sorted(set(one["rows"].tolist()))
        assert torch.equal(one["sums"], results[0]["sums"])
    row = 8 + 8 * WIDTH
    sent = [sum(counts) - counts[(rank + 1) % len(counts)] for rank in range(len(counts))]
    assert results.stats.bytes == [row * each * (len(counts) > 1) for each in sent]
