"""PowerSGD and rows of tables, as `DataParallel` uses them: exact where they are, bytes as said."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.data_parallel.algorithms.bucket import Bucket
from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
from helpers.lessons.fewer_bits.algorithms.power_sgd import PowerSgd, power_sgd_numbers
from helpers.lessons.fewer_bits.algorithms.sparse_rows import SparseRows
from helpers.lessons.messages.algorithms.collectives import all_reduce_naive, ring_bytes

SIZES = [1, 2, 3, 5]
SHAPES = [(12, 10), (10,), (8, 3, 3, 3), (3, 2), ()]


def bucket_of(shapes: list[tuple[int, ...]], dtype: torch.dtype = torch.float64) -> Bucket:
    parameters = [nn.Parameter(torch.zeros(shape, dtype=dtype)) for shape in shapes]
    return Bucket(parameters, torch.zeros(sum(p.numel() for p in parameters), dtype=dtype))


def some_steps(comm: Comm, rank: int, width: int, steps: int, seed: int = 0) -> Any:
    """Sums of gradients that are of rank `width`, what they were of, and what is still owed."""
    bucket, reduce = bucket_of(SHAPES), PowerSgd(rank)
    reduce.take_buckets([bucket])
    generator = torch.Generator().manual_seed(seed + comm.rank)
    sums, mine = [], []
    for _ in range(steps):
        for view in bucket.views.values():
            rows = view.shape[0] if view.dim() else 1
            left = torch.randn(rows, width, generator=generator, dtype=torch.float64)
            common = torch.Generator().manual_seed(5)  # all ranks' rows lie in the same directions
            right = torch.randn(width, view.numel() // rows, generator=common, dtype=torch.float64)
            view.copy_((left @ right).view(view.shape))
        mine.append(bucket.flat.clone())
        reduce(comm, bucket.flat)
        sums.append(bucket.flat.clone())
    return sums, mine, list(reduce.feedback.errors.values())  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", SIZES)
def test_matrices_of_no_higher_rank_are_summed_exactly(engine: str, size: int) -> None:
    for rank, width in ((1, 1), (3, 2)):
        results = helpers.run(some_steps, rank, width, 3, engine=engine, ranks=size, show=False)
        for step in range(3):
            wanted = sum(mine[step] for _, mine, _ in results)
            for sums, _, _ in results:
                torch.testing.assert_close(sums[step], wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_others_are_near_and_nothing_is_lost(size: int) -> None:
    results = helpers.run(some_steps, 2, 6, 30, engine="virtual", ranks=size)
    assert all(torch.equal(results[0][0][-1], sums[-1]) for sums, _, _ in results)
    applied = sum(results[0][0]) + sum(owed[0] for _, _, owed in results)
    handed = sum(sum(mine) for _, mine, _ in results)
    torch.testing.assert_close(applied, handed, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("size", "rank", "lefts", "rights"),
    [
        (2, 1, 12 + 8 + 3 + 11, 10 + 27 + 2),
        (3, 2, 24 + 16 + 17, 20 + 54),
        (2, 4, 48 + 32 + 17, 40 + 108),
        (3, 100, 120 + 10 + 216 + 6 + 1, 0),
    ],
)
def test_as_many_numbers_travel_as_the_formula_says(
    size: int, rank: int, lefts: int, rights: int
) -> None:
    def once(comm: Comm) -> None:
        bucket, reduce = bucket_of(SHAPES, torch.float32), PowerSgd(rank)
        reduce.take_buckets([bucket])
        reduce(comm, bucket.flat)

    run = helpers.run(once, engine="virtual", ranks=size)
    assert power_sgd_numbers(SHAPES, rank) == lefts + rights
    for r, sent in enumerate(run.stats.bytes):
        assert sent == ring_bytes(lefts, size, r) + ring_bytes(rights, size, r)


# --- in DataParallel ------------------------------------------------------------------------------


class Words(nn.Module):
    """A bag of words in front of a small net."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(50, 6, dtype=torch.float64)
        self.net = nn.Sequential(
            nn.Linear(6, 16, dtype=torch.float64), nn.Tanh(), nn.Linear(16, 2, dtype=torch.float64)
        )

    def forward(self, words: Tensor) -> Tensor:
        return torch.as_tensor(self.net(self.table(words).mean(1)))


def trains(comm: Comm, how: str, bucket_bytes: int, steps: int = 12) -> dict[str, Tensor]:
    torch.manual_seed(0)
    model = Words()
    reduce: Any = {
        "dense": all_reduce_naive,
        "rows": SparseRows([model.table.weight]),
        "power": PowerSgd(100),
    }[how]
    replica = DataParallel(
        model, comm, reduce, bucket_bytes=bucket_bytes, first_bucket_bytes=bucket_bytes
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    generator = torch.Generator().manual_seed(comm.rank)
    for _ in range(steps):
        words = torch.randint(0, 50, (4, 3), generator=generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(replica(words), words[:, 0] % 2).backward()
        replica.finish()
        optimizer.step()
    return {name: value.detach() for name, value in model.state_dict().items()}


@pytest.mark.parametrize("how", ["rows", "power"])
@pytest.mark.parametrize(("size", "bucket_bytes"), [(1, 1), (2, 2**20), (3, 1), (5, 2**20)])
def test_rows_and_whole_ranks_are_the_dense_sums(
    engine: str, size: int, bucket_bytes: int, how: str
) -> None:
    found, dense = (
        helpers.run(trains, each, bucket_bytes, engine=engine, ranks=size, show=False)
        for each in (how, "dense")
    )
    for one, other in zip(found, dense, strict=True):
        for name, weights in one.items():
            torch.testing.assert_close(weights, other[name], rtol=1e-9, atol=1e-9)
            assert torch.equal(weights, found[0][name])
