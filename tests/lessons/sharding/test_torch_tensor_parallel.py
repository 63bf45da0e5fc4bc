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


def _both(comm, tied):
    from torch.distributed.device_mesh import init_device_mesh

    from helpers.lessons.sharding.experiments import torch_tensor_parallel as theirs

    # Each rank from other weights: both sides have to begin with rank 0's.
    ours = parallel_transformer(transformer(**SHAPE, tied=tied, seed=comm.rank), comm)
    model = transformer(**SHAPE, tied=tied, seed=comm.rank)
    model = theirs.parallelize(model, init_device_mesh("cpu", (comm.size,)))
    mine, its = (torch.optim.SGD(m.parameters(), RATE, momentum=0.9) for m in (ours, model))
    losses = []
    for number in range(STEPS):
        tokens, targets = text(3, SHAPE["length"], SHAPE["vocabulary"], seed=number)
        mine.zero_grad()
        loss = vocabulary_cross_entropy(comm, ours(tokens), targets, SHAPE["vocabulary"])
        loss.backward()
        mine.step()
        losses.append((loss.item(), theirs.step(model, its, tokens, targets).item()))
    here = dict(ours.named_parameters())
    differences = {}
    for name, parameter in model.named_parameters():
        its_part = parameter.to_local() if hasattr(parameter, "to_local") else parameter
        differences[name] = (its_part - here[name]).abs().max().item()
    whole = {name: theirs.whole(p) for name, p in model.named_parameters()}
    return losses, differences, whole


@pytest.mark.parametrize(
    ("size", "tied"), [(2, True), pytest.param(4, False, marks=pytest.mark.thorough)]
)
def test_equal_to_dtensor_step_by_step(size, tied):
    results = helpers.run(_both, tied, ranks=size, timeout=120)
    dense = transformer(**SHAPE, tied=tied)
    optimizer = torch.optim.SGD(dense.parameters(), RATE, momentum=0.9)
    for number in range(STEPS):
        tokens, targets = text(3, SHAPE["length"], SHAPE["vocabulary"], seed=number)
        optimizer.zero_grad()
        loss = token_loss(dense(tokens), targets)
        loss.backward()
        optimizer.step()
        for losses, *_ in results:
            assert losses[number] == pytest.approx((loss.item(),) * 2, abs=1e-5)
    for _, differences, whole in results:
        assert max(differences.values()) < 1e-5
        for name, parameter in dense.named_parameters():
            torch.testing.assert_close(whole[name], parameter.detach(), rtol=1e-5, atol=1e-5)


def _both_on_a_mesh(comm):
    from torch.distributed.device_mesh import init_device_mesh

    from helpers.lessons.sharding.experiments import torch_tensor_parallel as theirs

    mesh = Mesh(comm, 2, 2)
    ours = parallel_transformer(transformer(**SHAPE, seed=comm.rank), mesh.row)
    replica = DataParallel(ours, mesh.column)
    model = transformer(**SHAPE, seed=comm.rank)
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    model = theirs.parallelize_and_shard(model, grid)
    mine, its = (torch.optim.SGD(m.parameters(), RATE, momentum=0.9) for m in (ours, model))
    losses = []
    for number in range(STEPS):
        tokens, targets = (
            rows_of(t, mesh.column.rank, 2)
            for t in text(4, SHAPE["length"], SHAPE["vocabulary"], seed=number)
        )
        mine.zero_grad()
        loss = vocabulary_cross_entropy(mesh.row, replica(tokens), targets, SHAPE["vocabulary"])
        loss.backward()
        replica.finish()
        mine.step()
        losses.append((loss.item(), theirs.step(model, its, tokens, targets).item()))
    return losses, {name: theirs.whole(p) for name, p in model.named_parameters()}


@pytest.mark.thorough
def test_a_mesh_of_two_by_two_equal_to_fsdp_over_dtensor():
    results = helpers.run(_both_on_a_mesh, ranks=4, timeout=200)
    dense = transformer(**SHAPE)
    optimizer = torch.optim.SGD(dense.parameters(), RATE, momentum=0.9)
    for number in range(STEPS):
        tokens, targets = text(4, SHAPE["length"], SHAPE["vocabulary"], seed=number)
        optimizer.zero_grad()
        loss = token_loss(dense(tokens), targets)
        loss.backward()
        optimizer.step()
        for place in (0, 1):  # ours and theirs; the mean of the rows' losses is the batch's
            rows = [results[rank][0][number][place] for rank in (0, 2)]
            assert sum(rows) / 2 == pytest.approx(loss.item(), abs=1e-5)
    for _, whole in results:
        for name, parameter in dense.named_parameters():
            torch.testing.assert_close(whole[name], parameter.detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.thorough
def test_heads_that_do_not_divide_are_refused():
    def job(comm):
        from torch.distributed.device_mesh import init_device_mesh

        from helpers.lessons.sharding.experiments.torch_tensor_parallel import parallelize

        with pytest.raises(ValueError, match="3 ranks do not share 4 heads evenly"):
            parallelize(transformer(**SHAPE), init_device_mesh("cpu", (comm.size,)))

    helpers.run(job, ranks=3, timeout=120)
