"""Buckets, missing gradients, buffers and overlap of `DataParallel`."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from training import batch

import helpers
from helpers.lessons.data_parallel.algorithms.bucket import MIB, Bucket, assign_buckets
from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel, rows_of

# --- gradients that are missing -------------------------------------------------------------------


def branches(comm):
    """A model of which rank 0 uses `a`, rank 1 `b`, and nobody `c`; twice in a row."""
    model = nn.ModuleDict({name: nn.Linear(2, 1, bias=False) for name in "abc"}).double()
    replica = DataParallel(model, comm, first_bucket_bytes=8)
    for _ in range(2):
        model.zero_grad()
        used = model["a"] if comm.rank == 0 else model["b"]
        used(torch.ones(1, 2, dtype=torch.float64)).sum().backward()
        replica.finish()
    return [model[name].weight.grad for name in "abc"]


def test_a_gradient_missing_on_some_ranks_counts_as_zero(engine):
    for a, b, unused in helpers.run(branches, ranks=2, engine=engine):
        # The mean of 1 and 0, on every rank.
        assert a.tolist() == b.tolist() == [[0.5, 0.5]]
        assert unused.tolist() == [[0.0, 0.0]]


# --- buffers, views -------------------------------------------------------------------------------


def test_buffers_come_from_rank_0(engine):
    def job(comm):
        torch.manual_seed(comm.rank)
        model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
        replica = DataParallel(model, comm)
        for step in range(2):
            x, y = (rows_of(t, comm.rank, comm.size) for t in batch(step))
            nn.functional.cross_entropy(replica(x.float()), y).backward()
            replica.finish()
        model.eval()
        replica(torch.zeros(1, 6))
        return model[1].running_mean.clone(), model[1].num_batches_tracked.clone()

    results = helpers.run(job, ranks=3, engine=engine)
    for mean, count in results:
        assert torch.equal(mean, results[0][0])
        assert count == 2


# --- buckets --------------------------------------------------------------------------------------


def test_buckets_close_as_in_torch():
    parameters = [nn.Parameter(torch.empty(n)) for n in [100_000, 200_000, 5_000_000, 5_000_000, 1]]
    groups = assign_buckets(parameters, 25 * MIB, 1 * MIB)
    # The first is closed by its second parameter (1.2 MB), the next by 40 MB, the rest is left.
    assert [len(group) for group in groups] == [2, 2, 1]
    mixed = [nn.Parameter(torch.empty(2, dtype=t)) for t in [torch.float32, torch.float64]]
    assert len(assign_buckets(mixed)) == 2
    assert assign_buckets([]) == []


def test_a_bucket_refuses_misuse():
    parameter = nn.Parameter(torch.ones(2))
    with pytest.raises(ValueError, match="2 gradients need a buffer"):
        Bucket([parameter], torch.zeros(3))
    bucket = Bucket([parameter], torch.zeros(2))
    parameter.grad = torch.ones(2)
    bucket.add(parameter, 0.5)
    assert bucket.full
    assert bucket.flat.tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="arrived twice"):
        bucket.add(parameter, 0.5)


def test_a_forgotten_finish_is_told():
    def job(comm):
        replica = DataParallel(nn.Linear(2, 1), comm)
        replica(torch.ones(1, 2)).sum().backward()
        replica(torch.ones(1, 2))

    with pytest.raises(RuntimeError, match=r"call finish\(\)"):
        helpers.run(job, ranks=2, engine="virtual")


# --- overlap --------------------------------------------------------------------------------------


class Slow(torch.autograd.Function):
    """Does nothing forward; takes a while backward."""

    @staticmethod
    def forward(ctx, x, comm):
        ctx.comm = comm
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        ctx.comm.compute(0.02)
        return gradient, None


def slow_training(comm):
    """Three layers, each 20 ms backward, in buckets of one layer each."""
    asked = []

    def background(fn, *args):  # when its thread gets a core says nothing of when it was asked
        asked.append(comm.time())
        return begin(fn, *args)

    begin, comm.background = comm.background, background
    layers = [nn.Linear(64, 64) for _ in range(3)]
    replica = DataParallel(nn.Sequential(*layers), comm, bucket_bytes=1, first_bucket_bytes=1)
    comm.barrier()
    x = torch.ones(1, 64)
    for layer in layers:
        x = Slow.apply(layer(x), comm)
    start = comm.time()
    x.sum().backward()
    middle = comm.time()
    replica.finish()
    return start, middle, comm.time(), asked


def test_the_first_sum_starts_before_backward_ends(engine):
    results = helpers.run(slow_training, ranks=2, engine=engine)
    for rank, (start, middle, _, asked) in enumerate(results):
        assert len(asked) == 6 and start + 0.019 < asked[0] < asked[-1] <= middle
        assert asked[1] < middle - 0.039  # the last layer's two, with two layers still to come
        assert results.trace.of(rank, lane=1)  # messages come and go on the second lane
        assert middle - start >= 0.059


def test_overlap_hides_what_it_can_on_the_virtual_clock():
    link = {"latency": 1e-3, "bandwidth": 1e9}
    results = helpers.run(slow_training, ranks=2, engine="virtual", **link)
    for start, middle, end, _ in results:
        assert middle - start == pytest.approx(0.06)
        # Six rings of 2 messages each; all but those of the last layer are hidden in backward.
        assert 0.002 < end - middle < 0.005
