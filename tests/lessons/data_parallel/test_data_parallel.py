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
    shard,
    shard_bounds,
)
from helpers.lessons.messages.algorithms import collectives as c

SIZES = [1, 2, 3, 5]


def serial(make: Callable[[], nn.Module], seed: int = 0) -> dict[str, torch.Tensor]:
    """The baseline: the weights after training on whole batches without ranks."""
    torch.manual_seed(seed)
    model = make()
    optimizer = optimizer_of(model)
    for step in range(STEPS):
        x, y = batch(step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return {name: value.detach() for name, value in model.state_dict().items()}


def parallel(
    comm: Comm, make: Callable[[], nn.Module], how: str, rows: int = ROWS
) -> dict[str, torch.Tensor]:
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
        x, y = (rows_of(t[:rows], comm.rank, comm.size) for t in batch(step))
        optimizer.zero_grad()
        if how == "plain":
            nn.functional.cross_entropy(model(x), y).backward()
            average_gradients(comm, model, len(x), rows)
        else:
            replica.weight = len(x) / rows
            nn.functional.cross_entropy(replica(x), y).backward()
            replica.finish()
        optimizer.step()
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def assert_equal_weights(results: list, expected: dict) -> None:
    for rank, weights in enumerate(results):
        for name, value in weights.items():
            torch.testing.assert_close(
                value, expected[name], rtol=1e-12, atol=1e-12, msg=lambda m, n=name: f"{n}: {m}"
            )
            # Replicas do not drift apart: they have the very same bits.
            assert torch.equal(value, results[0][name]), f"{name} of rank {rank} drifted"


# --- shards ---------------------------------------------------------------------------------------


@given(rows=st.integers(0, 500), size=st.integers(1, 40))
def test_shards_are_all_rows_once(rows, size):
    bounds = [shard_bounds(rows, rank, size) for rank in range(size)]
    assert [i for start, stop in bounds for i in range(start, stop)] == list(range(rows))
    x = torch.arange(rows)
    assert torch.equal(torch.cat([rows_of(x, rank, size) for rank in range(size)]), x)


@given(rows=st.integers(0, 200), size=st.integers(1, 9), epoch=st.integers(0, 50))
def test_an_epochs_rows_are_all_rows_once_in_its_own_order(rows, size, epoch):
    state = torch.get_rng_state()
    whole = torch.cat([shard(rows, rank, size, epoch) for rank in range(size)])
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(whole.sort().values, torch.arange(rows))
    if rows > 20:
        assert not torch.equal(whole, shard(rows, 0, 1, epoch + 1))


def test_there_is_no_shard_for_a_rank_that_is_not_there():
    with pytest.raises(ValueError, match="no rank 2 among 2"):
        shard_bounds(5, 2, 2)
    with pytest.raises(ValueError, match="no rank 2 among 2"):
        shard(5, 2, 2, epoch=0)


# --- equal to one big batch -----------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("how", ["plain", "all_reduce_halving_doubling", "all_reduce_shared"])
def test_equal_to_one_big_batch(engine, size, how):
    results = helpers.run(parallel, Plain, how, ranks=size, engine=engine)
    assert_equal_weights(results, serial(Plain))


@pytest.mark.parametrize(
    ("size", "how"), [(3, "plain"), (2, "all_reduce_ring"), (5, "all_reduce_ring")]
)
def test_tied_frozen_and_unused_parameters(engine, size, how):
    results = helpers.run(parallel, Tied, how, ranks=size, engine=engine)
    # Tied: summed over both uses, once over the ranks. Frozen: broadcast, never changed.
    assert_equal_weights(results, serial(Tied))


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


@pytest.mark.thorough
@pytest.mark.real
@pytest.mark.horovod
def test_equal_to_horovod():
    pytest.importorskip("horovod.torch", reason="Horovod is not installed")

    def job(comm):
        import horovod.torch as hvd

        torch.manual_seed(comm.rank)
        model = Plain()
        optimizer = hvd.DistributedOptimizer(
            optimizer_of(model), named_parameters=model.named_parameters()
        )
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        for step in range(STEPS):
            x, y = (rows_of(t[:22], comm.rank, comm.size) for t in batch(step))
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        return dict(model.state_dict()), parallel(comm, Plain, "all_reduce_ring", rows=22)

    for theirs, ours in helpers.run(job, ranks=2, framework="horovod"):
        for name, value in ours.items():
            torch.testing.assert_close(value, theirs[name], rtol=1e-12, atol=1e-12)
