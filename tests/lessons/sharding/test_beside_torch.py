"""Our sharding and tensor parallelism beside torch's own, FSDP2 and DTensor, on the same ranks."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.bandwidth.algorithms.mesh import Mesh
from helpers.lessons.data_parallel.algorithms.data_parallel import (
    DataParallel,
    broadcast_parameters,
    rows_of,
)
from helpers.lessons.sharding.algorithms.sharding import Sharded
from helpers.lessons.sharding.algorithms.vocabulary_parallel import (
    parallel_transformer,
    vocabulary_cross_entropy,
)
from helpers.lessons.sharding.experiments.torch_fsdp import TorchSharded
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer

pytestmark = pytest.mark.real

STEPS = 5
SHAPE: dict[str, Any] = {"vocabulary": 16, "width": 16, "heads": 4, "blocks": 2, "length": 6}
OPTIMIZERS = {
    "momentum": partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    # A key's bias has a gradient of rounding alone, which a smaller eps would make into a step.
    "adam": partial(torch.optim.Adam, lr=0.01, eps=1e-4),
}


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    return text(4, SHAPE["length"], SHAPE["vocabulary"], seed=step)


def sharded(comm: Comm, optimizer: str, ours: bool) -> tuple[list[float], Any, Any]:
    """Some steps of ours or theirs: losses, final weights, and the bytes that are held."""
    dense = transformer(**{**SHAPE, "width": 12, "heads": 2}, seed=comm.rank)
    if ours:
        model: Sharded | TorchSharded = Sharded(dense, comm, OPTIMIZERS[optimizer], 3)
    else:
        broadcast_parameters(dense, comm)
        model = TorchSharded(dense, comm, OPTIMIZERS[optimizer])
    losses = []
    for step in range(STEPS):
        model.zero_grad()
        x, y = batch(step * comm.size + comm.rank)
        loss = token_loss(model(x), y)
        loss.backward()
        model.step()
        losses.append(loss.item())
    return losses, model.full_state(), model.bytes()


@pytest.mark.parametrize(
    ("optimizer", "size"), [("adam", 3), pytest.param("momentum", 2, marks=pytest.mark.thorough)]
)
def test_equal_to_fsdp2(optimizer: str, size: int) -> None:
    mine, its = (helpers.run(sharded, optimizer, ours, ranks=size) for ours in (True, False))
    for (losses, state, held), (their_losses, their_state, theirs) in zip(mine, its, strict=True):
        assert losses == pytest.approx(their_losses, abs=1e-5)
        assert state.keys() == their_state.keys()
        for name, value in state.items():
            torch.testing.assert_close(value, their_state[name], rtol=1e-5, atol=1e-5)
        # Only what either pads differs: ours a row, theirs each parameter's first dimension.
        for name, nbytes in theirs.items():
            assert getattr(held, name) == pytest.approx(nbytes, rel=0.2)


def tensor_parallel(comm: Comm, replicas: int, tied: bool) -> tuple[list[Any], Any]:
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
    mine, its = (OPTIMIZERS["momentum"](m.parameters()) for m in (ours, model))
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
    [(2, 1, True), pytest.param(4, 2, False, marks=pytest.mark.thorough)],
)
def test_equal_to_dtensor_step_by_step(size: int, replicas: int, tied: bool) -> None:
    results = helpers.run(tensor_parallel, replicas, tied, ranks=size, timeout=200)
    dense = transformer(**SHAPE, tied=tied)
    optimizer = OPTIMIZERS["momentum"](dense.parameters())
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
