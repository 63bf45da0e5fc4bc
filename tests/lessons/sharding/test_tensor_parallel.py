"""Tensor parallelism against the dense model, forward and backward, in float64."""

from __future__ import annotations

from functools import partial

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
from helpers.lessons.messages.algorithms.collectives import (
    all_reduce_ring,
    chunk_bounds,
    ring_bytes,
)
from helpers.lessons.sharding.algorithms.tensor_parallel import (
    ParallelAttention,
    ParallelMlp,
    copy_to_ranks,
    f_and_g,
    parallel_block,
    sum_over_ranks,
    tie_as,
)
from helpers.lessons.splitting.experiments.transformer import Attention, Block, Mlp

SIZES = [1, 2, 3, 5]
TIGHT = {"rtol": 1e-10, "atol": 1e-10}


# --- five steps of training -----------------------------------------------------------------------


@pytest.mark.parametrize(("size", "adam"), [(1, True), (2, False), (3, True), (5, True)])
def test_a_transformer_trains_as_the_dense_one(engine, size, adam):
    # With 5 ranks and 3 heads, two ranks have no head.
    results = helpers.run(parallel_training, False, False, adam, ranks=size, engine=engine)
    assert_parts(results, dense_training(adam=adam), size)


@pytest.mark.parametrize("size", [3])
def test_tied_and_frozen_parameters(engine, size):
    results = helpers.run(parallel_training, True, True, ranks=size, engine=engine)
    assert_parts(results, dense_training(tied=True, frozen=True), size)


@pytest.mark.thorough
def test_more_ranks_than_tokens():
    results = helpers.run(parallel_training, ranks=20, engine="virtual")
    assert_parts(results, dense_training(), 20)


# --- what goes over the wire ----------------------------------------------------------------------


def _counting(comm):
    """A block forward and backward; the elements of every all-reduce, in order, and the bytes."""
    sums: list[int] = []

    def reduce(its_comm, tensor):
        sums.append(tensor.numel())
        return all_reduce_ring(its_comm, tensor)

    whole = Block(SHAPE["width"], SHAPE["heads"], 4 * SHAPE["width"], torch.float64)
    block = parallel_block(whole, comm, partial(f_and_g, reduce=reduce))
    x = torch.randn(
        (ROWS, LENGTH, SHAPE["width"]), generator=torch.Generator().manual_seed(0)
    ).double()
    x.requires_grad_()
    comm.barrier()
    y = block(x)
    forward = len(sums)
    y.square().sum().backward()
    return forward, sums


@pytest.mark.parametrize("size", [1, 3])
def test_a_block_costs_two_all_reduces_forward_and_two_backward(engine, size):
    for forward, sums in helpers.run(_counting, ranks=size, engine=engine):
        wanted = 2 if size > 1 else 0
        assert (forward, len(sums)) == (wanted, 2 * wanted)
        # Each of as many numbers as x has, whatever the width of the MLP.
        assert set(sums) <= {ROWS * LENGTH * SHAPE["width"]}


@pytest.mark.parametrize("size", [3])
def test_the_bytes_of_a_block_are_those_of_four_rings(engine, size):
    def block(comm):
        whole = Block(SHAPE["width"], SHAPE["heads"], 4 * SHAPE["width"], torch.float64)
        made = parallel_block(whole, comm, broadcast=False)
        x = torch.ones(ROWS, LENGTH, SHAPE["width"], dtype=torch.float64, requires_grad=True)
        made(x).sum().backward()

    results = helpers.run(block, ranks=size, engine=engine)
    elements = ROWS * LENGTH * SHAPE["width"]
    assert list(results.stats.bytes) == [4 * ring_bytes(elements, size, r, 8) for r in range(size)]
    assert list(results.stats.messages) == [4 * 2 * (size - 1)] * size


# --- the parts ------------------------------------------------------------------------------------


def _seeded(make, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()


def _x(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def _mlp():
    return _seeded(lambda: Mlp(5, 7, torch.float64))


@pytest.mark.parametrize("size", SIZES)
def test_a_column_then_a_row(engine, size):
    def job(comm):
        x = _x(2, 4, 5).requires_grad_()
        mlp = ParallelMlp(_mlp(), comm)
        y = mlp(x)
        y.square().sum().backward()
        return y, x.grad, mlp.up.weight.grad, mlp.down.weight.grad, mlp.down.bias.grad

    whole, x = _mlp(), _x(2, 4, 5).requires_grad_()
    y = whole(x)
    y.square().sum().backward()
    for rank, got in enumerate(helpers.run(job, ranks=size, engine=engine)):
        start, stop = chunk_bounds(7, size)[rank]
        up, down = whole.up.weight.grad[start:stop], whole.down.weight.grad[:, start:stop]
        for one, other in zip(got, (y, x.grad, up, down, whole.down.bias.grad), strict=True):
            torch.testing.assert_close(one, other.detach(), **TIGHT)


@pytest.mark.parametrize("size", SIZES)
def test_attention_is_cut_by_heads(engine, size):
    def whole():
        return _seeded(lambda: Attention(12, 3, torch.float64))

    def job(comm):
        x = _x(2, 4, 12).requires_grad_()
        attention = ParallelAttention(whole(), comm)
        y = attention(x)
        y.square().sum().backward()
        return attention.heads, y, x.grad

    x = _x(2, 4, 12).requires_grad_()
    y = whole()(x)
    y.square().sum().backward()
    results = helpers.run(job, ranks=size, engine=engine)
    assert sum(heads for heads, *_ in results) == 3
    for _, its_y, its_gradient in results:
        torch.testing.assert_close(its_y, y.detach(), **TIGHT)
        torch.testing.assert_close(its_gradient, x.grad, **TIGHT)


def test_f_and_g_are_each_others_mirror_image():
    def job(comm):
        x = torch.full((3,), 1.0 + comm.rank, requires_grad=True)
        f = copy_to_ranks(comm, x)
        ((comm.rank + 1) * f).sum().backward()
        forward_f, backward_f = f.detach(), x.grad
        x.grad = None
        g = sum_over_ranks(comm, x)
        g.sum().backward()
        return forward_f, backward_f, g.detach(), x.grad

    for rank, (ff, fb, gf, gb) in enumerate(helpers.run(job, ranks=3, engine="virtual")):
        assert ff.tolist() == [rank + 1.0] * 3 and fb.tolist() == [6.0] * 3
        assert gf.tolist() == [6.0] * 3 and gb.tolist() == [1.0] * 3


def test_weights_tied_across_different_cuts_are_refused():
    def job(comm):
        mlp = Mlp(4, 4, torch.float64)
        mlp.down.weight = mlp.up.weight
        with pytest.raises(ValueError, match="cut in another way"):
            tie_as(mlp, ParallelMlp(mlp, comm))

    helpers.run(job, ranks=2, engine="virtual")
