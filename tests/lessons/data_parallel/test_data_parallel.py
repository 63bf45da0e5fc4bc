"""Data parallelism against the same training on one big batch, without ranks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from training import FEW, ROWS, STEPS, Plain, Tied, batch, optimizer_of

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.data_parallel.algorithms.data_parallel import (
    DataParallel,
    average_gradients,
    broadcast_parameters,
    rows_of,
    shard_bounds,
)
from helpers.lessons.messages.algorithms import collectives as c

SIZES = [1, 2, 3, 5]


def serial(make: Callable[[], nn.Module]) -> dict[str, torch.Tensor]:
    """The baseline: the weights after training on whole batches without ranks."""
    torch.manual_seed(0)
    model = make()
    optimizer = optimizer_of(model)
    for step in range(STEPS):
        x, y = batch(step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return {name: value.detach() for name, value in model.state_dict().items()}


def parallel(comm: Comm, make: Callable[[], nn.Module], how: str) -> dict[str, torch.Tensor]:
    """The same training on ranks, each seeded differently, each with its shard."""
    torch.manual_seed(comm.rank)
    model = make()
    optimizer = optimizer_of(model)
    if how == "plain":
        broadcast_parameters(model, comm)
    else:
        reduce = getattr(c, how)
        replica = DataParallel(model, comm, reduce, bucket_bytes=FEW, first_bucket_bytes=200)
    for step in range(STEPS):
        x, y = (rows_of(t, comm.rank, comm.size) for t in batch(step))
        optimizer.zero_grad()
        if how == "plain":
            nn.functional.cross_entropy(model(x), y).backward()
            average_gradients(comm, model, len(x), ROWS)
        else:
            replica.weight = len(x) / ROWS
            nn.functional.cross_entropy(replica(x), y).backward()
            replica.finish()
        optimizer.step()
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


# --- shards ---------------------------------------------------------------------------------------


@given(rows=st.integers(0, 500), size=st.integers(1, 40))
def test_shards_are_all_rows_once(rows, size):
    bounds = [shard_bounds(rows, rank, size) for rank in range(size)]
    assert [i for start, stop in bounds for i in range(start, stop)] == list(range(rows))
    x = torch.arange(rows)
    assert torch.equal(torch.cat([rows_of(x, rank, size) for rank in range(size)]), x)
    with pytest.raises(ValueError, match=f"no rank {size} among {size}"):
        shard_bounds(rows, size, size)


# --- equal to one big batch -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "how", "size"),
    [
        *((Plain, how, size) for how in ("plain", "all_reduce_shared") for size in SIZES),
        (Plain, "all_reduce_halving_doubling", 3),
        # Tied: summed over both uses, once over the ranks. Frozen: broadcast, never changed.
        *((Tied, "plain", 3), (Tied, "all_reduce_ring", 2), (Tied, "all_reduce_ring", 5)),
    ],
)
def test_equal_to_one_big_batch(engine, make, how, size):
    results = helpers.run(parallel, make, how, ranks=size, engine=engine)
    expected = serial(make)
    for rank, weights in enumerate(results):
        for name, value in weights.items():
            torch.testing.assert_close(
                value, expected[name], rtol=1e-12, atol=1e-12, msg=lambda m, n=name: f"{n}: {m}"
            )
            # Replicas do not drift apart: they have the very same bits.
            assert torch.equal(value, results[0][name]), f"{name} of rank {rank} drifted"


# --- the frameworks' own --------------------------------------------------------------------------


@pytest.mark.real
def test_equal_to_torch_ddp():
    def job(comm):
        from torch.nn.parallel import DistributedDataParallel

        def train(wrap, after):
            torch.manual_seed(comm.rank)
            model = Plain()
            wrapped, optimizer = wrap(model), optimizer_of(model)
            for step in range(STEPS):
                x, y = (rows_of(t[:22], comm.rank, comm.size) for t in batch(step))
                optimizer.zero_grad()
                nn.functional.cross_entropy(wrapped(x), y).backward()
                after(wrapped)
                optimizer.step()
            return dict(model.state_dict())

        ours = train(lambda m: DataParallel(m, comm, bucket_bytes=FEW), lambda r: r.finish())
        return ours, train(DistributedDataParallel, lambda r: None)

    for ours, theirs in helpers.run(job, ranks=2, engine="processes"):
        for name, value in ours.items():
            torch.testing.assert_close(value, theirs[name], rtol=1e-12, atol=1e-12)
