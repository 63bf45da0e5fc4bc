"""Tensor parallelism against the dense model, forward and backward, in float64."""

from __future__ import annotations

import pytest
import torch
from tensor_parallel_cases import (
    LENGTH,
    ROWS,
    SHAPE,
    assert_parts,
    dense_training,
    parallel_training,
)

import helpers
from helpers.lessons.messages.algorithms.collectives import ring_bytes
from helpers.lessons.sharding.algorithms.tensor_parallel import (
    ParallelMlp,
    parallel_block,
    tie_as,
)
from helpers.lessons.splitting.experiments.transformer import Block, Mlp

# --- five steps of training -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "tied", "adam"),
    [(1, False, True), (2, False, False), (3, False, True), (5, False, True), (3, True, False)],
)
def test_a_transformer_trains_as_the_dense_one(engine, size, tied, adam):
    # With 5 ranks and 3 heads, two ranks have no head. The tied one is frozen in parts.
    results = helpers.run(parallel_training, tied, tied, adam, ranks=size, engine=engine)
    assert_parts(results, dense_training(tied, tied, adam), size)


# --- what goes over the wire ----------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3])
def test_a_block_sends_two_rings_forward_and_two_backward(engine, size):
    def block(comm, backward):
        whole = Block(SHAPE["width"], SHAPE["heads"], 4 * SHAPE["width"], torch.float64)
        made = parallel_block(whole, comm, broadcast=False)
        x = torch.ones(ROWS, LENGTH, SHAPE["width"], dtype=torch.float64, requires_grad=True)
        y = made(x)
        if backward:
            y.sum().backward()

    elements = ROWS * LENGTH * SHAPE["width"]  # whatever the width of the MLP
    for backward, count in ((False, 2), (True, 4)):
        stats = helpers.run(block, backward, ranks=size, engine=engine).stats
        assert stats.bytes == [count * ring_bytes(elements, size, r, 8) for r in range(size)]
        assert stats.messages == [count * 2 * (size - 1)] * size


def test_weights_tied_across_different_cuts_are_refused():
    def job(comm):
        mlp = Mlp(4, 4, torch.float64)
        mlp.down.weight = mlp.up.weight
        with pytest.raises(ValueError, match="cut in another way"):
            tie_as(mlp, ParallelMlp(mlp, comm))

    helpers.run(job, ranks=2, engine="virtual")
