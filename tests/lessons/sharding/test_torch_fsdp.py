"""Ours beside torch's FSDP2 on real ranks: equal losses and weights."""

from __future__ import annotations

from functools import partial

import pytest
import torch

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.sharding.algorithms.sharding import Sharded
from helpers.lessons.sharding.experiments.torch_fsdp import TorchSharded
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer

pytestmark = pytest.mark.real

OPTIMIZERS = {
    "momentum": partial(torch.optim.SGD, lr=0.1, momentum=0.9),
    # A key's bias has a gradient of rounding alone, which a smaller eps would make into a step.
    "adam": partial(torch.optim.Adam, lr=0.01, eps=1e-4),
}


def both(comm: Comm, optimizer: str) -> dict:
    """Five steps of each: losses, final weights, and the bytes that are held."""
    found = {}
    for name in ("ours", "theirs"):
        torch.manual_seed(comm.rank)
        dense = transformer(16, 12, 2, 2, 6, seed=None)
        make = OPTIMIZERS[optimizer]
        if name == "ours":
            model: Sharded | TorchSharded = Sharded(dense, comm, make, 3)
        else:
            broadcast_parameters(dense, comm)
            model = TorchSharded(dense, comm, make)
        losses = []
        for step in range(5):
            model.zero_grad()
            x, y = text(4, 6, 16, seed=step * comm.size + comm.rank)
            loss = token_loss(model(x), y)
            loss.backward()
            model.step()
            losses.append(loss.item())
        found[name] = (losses, model.full_state(), model.bytes())
    return found


@pytest.mark.parametrize(
    ("optimizer", "size"), [("adam", 3), pytest.param("momentum", 2, marks=pytest.mark.thorough)]
)
def test_equal_to_fsdp2(optimizer, size):
    results = helpers.run(both, optimizer, ranks=size, engine="processes")
    for seen in results:
        (losses, state, held), (their_losses, their_state, theirs) = seen["ours"], seen["theirs"]
        assert losses == pytest.approx(their_losses, abs=1e-5)
        assert state.keys() == their_state.keys()
        for name, value in state.items():
            torch.testing.assert_close(value, their_state[name], rtol=1e-5, atol=1e-5)
        # Only what either pads differs: ours a row, theirs each parameter's first dimension.
        for name, nbytes in theirs.items():
            assert getattr(held, name) == pytest.approx(nbytes, rel=0.2)
