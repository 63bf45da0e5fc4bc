"""Tensor parallelism beside torch's own, DTensor, on the same ranks."""

from __future__ import annotations

import pytest
import torch

import helpers
from helpers.lessons.bandwidth.algorithms.mesh import Mesh
from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel, rows_of
from helpers.lessons.sharding.algorithms.vocabulary_parallel import (
    parallel_transformer,
    vocabulary_cross_entropy,
)
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer

pytestmark = pytest.mark.real

STEPS, RATE = 5, 0.1
SHAPE = {"vocabulary": 16, "width": 16, "heads": 4, "blocks": 2, "length": 6}


def batch(step):
    return text(4, SHAPE["length"], SHAPE["vocabulary"], seed=step)


def both(comm, replicas, tied):
    """Losses of each step, ours and theirs, with the batch shared out to so many replicas; and
    their whole parameters at the end."""
    from torch.distributed.device_mesh import init_device_mesh

    from helpers.lessons.sharding.experiments import torch_tensor_parallel as theirs

    mesh = Mesh(comm, replicas, comm.size // replicas)
    # Each rank from other weights: both sides have to begin with rank 0's.
    ours = parallel_transformer(transformer(**SHAPE, tied=tied, seed=comm.rank), mesh.row)
    replica = DataParallel(ours, mesh.column)
    model = transformer(**SHAPE, tied=tied, seed=comm.rank)
    if replicas == 1:
        model = theirs.parallelize(model, init_device_mesh("cpu", (comm.size,)))
    else:
        shape, names = (replicas, comm.size // replicas), ("data", "tensor")
        grid = init_device_mesh("cpu", shape, mesh_dim_names=names)
        model = theirs.parallelize_and_shard(model, grid)
    mine, its = (torch.optim.SGD(m.parameters(), RATE, momentum=0.9) for m in (ours, model))
    losses = []
    for number in range(STEPS):
        tokens, targets = (rows_of(t, mesh.column.rank, replicas) for t in batch(number))
        mine.zero_grad()
        loss = vocabulary_cross_entropy(mesh.row, replica(tokens), targets, SHAPE["vocabulary"])
        loss.backward()
        replica.finish()
        mine.step()
        losses.append((loss.item(), theirs.step(model, its, tokens, targets).item()))
    return losses, {name: theirs.whole(p) for name, p in model.named_parameters()}


@pytest.mark.parametrize(
    ("size", "replicas", "tied"),
    [
        (2, 1, True),
        pytest.param(4, 2, False, marks=pytest.mark.thorough),
    ],
)
def test_equal_to_dtensor_step_by_step(size, replicas, tied):
    results = helpers.run(both, replicas, tied, ranks=size, timeout=200)
    dense = transformer(**SHAPE, tied=tied)
    optimizer = torch.optim.SGD(dense.parameters(), RATE, momentum=0.9)
    firsts = results[:: size // replicas]  # of each replica, its first rank
    for number in range(STEPS):
        tokens, targets = batch(number)
        optimizer.zero_grad()
        loss = token_loss(dense(tokens), targets)
        loss.backward()
        optimizer.step()
        for place in (0, 1):  # ours and theirs; the mean of the replicas' losses is the batch's
            mean = sum(losses[number][place] for losses, _ in firsts) / replicas
            assert mean == pytest.approx(loss.item(), abs=1e-5)
    for _, whole in results:
        for name, parameter in dense.named_parameters():
            torch.testing.assert_close(whole[name], parameter.detach(), rtol=1e-5, atol=1e-5)
