"""Sums of what is encoded: equal on all ranks, of as many bytes as counted, and nothing lost."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
from helpers.lessons.fewer_bits.algorithms.encodings import Encoding, Half, Signs, TopK
from helpers.lessons.fewer_bits.algorithms.feedback import Nothing
from helpers.lessons.fewer_bits.algorithms.two_way import HalfRing, TwoWay
from helpers.lessons.messages.algorithms.collectives import ring_bytes

ENCODINGS = [Half(), TopK(0.1), TopK(1.0), Signs()]
WANTED = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)
CASES = [("virtual", 1, 7), ("virtual", 2, 0), ("virtual", 3, 7), ("virtual", 5, 1)]
CASES += [("virtual", 5, 40), pytest.param("processes", 3, 7, marks=pytest.mark.thorough)]


def given(rank: int, step: int, length: int) -> Tensor:
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(length, generator=generator, dtype=torch.float64)


def some_steps(comm: Comm, encoding: Encoding, length: int, steps: int) -> Any:
    """The sums of some steps, what they were of, and what is still owed."""
    reduce, buffer = TwoWay(encoding), torch.zeros(length, dtype=torch.float64)
    sums, mine = [], []
    for step in range(steps):
        mine.append(given(comm.rank, step, length))
        buffer.copy_(mine[-1])
        assert reduce(comm, buffer) is buffer
        sums.append(buffer.clone())
    kept: list[Any] = [reduce.feedback, reduce.owned]
    owed = [torch.cat([*each.errors.values()]) for each in kept if each.errors]  # part by part
    return sums, mine, owed


@pytest.mark.parametrize(("engine", "size", "length"), CASES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_all_ranks_get_the_same_and_nothing_is_lost(
    engine: str, encoding: Encoding, size: int, length: int
) -> None:
    results = helpers.run(some_steps, encoding, length, 4, engine=engine, ranks=size, show=False)
    for sums, _, _ in results:
        assert all(torch.equal(a, b) for a, b in zip(sums, results[0][0], strict=True))
    applied = sum(results[0][0])
    handed = sum(sum(mine) for _, mine, _ in results)
    if size > 1:
        applied = applied + sum(own for _, _, (own, _) in results)
        applied = applied + torch.cat([owned for _, _, (_, owned) in results])
    torch.testing.assert_close(applied, handed, rtol=1e-9, atol=1e-9)
    if encoding == ENCODINGS[2]:  # all travels: each is the dense sum
        for step, total in enumerate(results[0][0]):
            torch.testing.assert_close(total, sum(mine[step] for _, mine, _ in results))


def once(comm: Comm, reduce: Any, length: int) -> Tensor:
    return torch.as_tensor(reduce(comm, given(comm.rank, 0, length).float()))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_bytes_are_as_said(size: int) -> None:
    length = 30_000 * size
    for reduce, share in (
        (HalfRing(), 1 / 2),
        (TwoWay(Half()), 1 / 2),
        (TwoWay(TopK(0.01)), 0.02),
        (TwoWay(Signs()), 1 / 31),
    ):
        run = helpers.run(once, reduce, length, engine="virtual", ranks=size)
        dense = [ring_bytes(length, size, rank) for rank in range(size)]
        for sent, plain in zip(run.stats.bytes, dense, strict=True):
            if share in (1 / 2, 0.02):
                assert sent == round(share * plain)
            assert sent <= share * plain


# --- as a reducer ---------------------------------------------------------------------------------


def regression(rank: int, size: int) -> tuple[Tensor, Tensor]:
    """Rows of one rank, whose weights are WANTED's only on average over the ranks."""
    x = torch.linalg.qr(given(0, 7, 32).view(8, 4)).Q * 8**0.5
    own = WANTED.clone()
    own[0] += 0.5 * (size - 1 if rank == 0 else -1)
    return x, x @ own.view(4, 1)


def trains(comm: Comm, reduce: Any, steps: int) -> tuple[Tensor, float]:
    torch.manual_seed(comm.rank)
    model = nn.Linear(4, 1, bias=False, dtype=torch.float64)
    replica = DataParallel(model, comm, reduce)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    x, y = regression(comm.rank, comm.size)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 0.04 * (1 - step / steps)
        optimizer.zero_grad()
        loss = (replica(x) - y).square().mean()
        loss.backward()
        replica.finish()
        optimizer.step()
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()]), float(loss.detach())


def test_training_with_feedback_arrives_where_training_without_it_does_not() -> None:
    def weights(reduce: Any) -> Tensor:
        run = helpers.run(trains, reduce, 150, engine="virtual", ranks=3, show=False)
        assert all(torch.equal(run[0][0], other[0]) for other in run)
        return torch.as_tensor(run[0][0])

    for reduce in (HalfRing(), TwoWay(TopK(0.2))):
        torch.testing.assert_close(weights(reduce), WANTED, rtol=0, atol=0.05)
    # One large gradient and many small ones: the mean of the signs is not the sign of the mean.
    lost = (weights(TwoWay(Signs(), Nothing())) - WANTED).abs().max()
    kept = (weights(TwoWay(Signs())) - WANTED).abs().max()
    assert kept < 0.05 and lost > 2 * kept
