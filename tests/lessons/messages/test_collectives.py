"""Every collective against a sum without ranks, on both engines, and the bytes it sends."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import helpers
from helpers.lessons.messages.algorithms import collectives as c

SIZES = [1, 2, 3, 5, 8]
LENGTHS = [0, 1, 7, 16, 1001]  # some divide by none of the sizes, some are shorter than the ring
ALL_REDUCES = [
    c.all_reduce_naive,
    c.all_reduce_tree,
    c.all_reduce_ring,
    c.all_reduce_halving_doubling,
]
BROADCASTS = [c.broadcast_naive, c.broadcast_tree]
REDUCES = [c.reduce_naive, c.reduce_tree]


def data(rank, length, dtype=torch.float64):
    """What a rank starts with: seeded by its number."""
    generator = torch.Generator().manual_seed(1000 * rank + length)
    if dtype.is_floating_point:
        return torch.randn(length, generator=generator, dtype=torch.float64).to(dtype)
    return torch.randint(-1000, 1000, (length,), generator=generator, dtype=dtype)


def serial_sum(size, length, dtype=torch.float64):
    """The baseline: the sum without ranks."""
    return sum(
        (data(rank, length, dtype) for rank in range(size)), torch.zeros(length, dtype=dtype)
    )


# --- values ---------------------------------------------------------------------------------------


def every_all_reduce(comm):
    """Each all-reduce at each length, in one run."""
    out = {}
    for length in LENGTHS:
        for algorithm in ALL_REDUCES:
            tensor = data(comm.rank, length)
            returned = algorithm(comm, tensor)
            out[algorithm.__name__, length] = (tensor, returned is tensor)
        buffers = comm.shared((length,), torch.float64)
        buffers[comm.rank].copy_(data(comm.rank, length))
        out["all_reduce_shared", length] = (c.all_reduce_shared(comm, buffers).clone(), True)
    return out


@pytest.mark.parametrize(
    ("engine", "size"), [*(("virtual", size) for size in SIZES), ("processes", 3)]
)
def test_all_reduce_equals_the_serial_sum(engine, size):
    results = helpers.run(every_all_reduce, ranks=size, engine=engine)
    for (name, length), (value, in_place) in results[0].items():
        expected = serial_sum(size, length)
        # Equal to the sum without ranks, to rounding: the orders of the additions differ.
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
        assert in_place, f"{name} returned another tensor than it was given"
        for other in results[1:]:
            # Every rank ends with the same bits: no element is summed in two places.
            assert torch.equal(other[name, length][0], value), f"{name} differs between ranks"


def every_rooted(comm):
    """Each broadcast and reduce, from and to every root."""
    out = {}
    for root in range(comm.size):
        for algorithm in [*BROADCASTS, *REDUCES]:
            tensor = data(comm.rank, 7)
            assert algorithm(comm, tensor, root) is tensor
            out[algorithm.__name__, root] = tensor
    return out


@pytest.mark.parametrize("size", SIZES)
def test_broadcast_and_reduce_with_every_root(engine, size):
    results = helpers.run(every_rooted, ranks=size, engine=engine)
    for root in range(size):
        for algorithm in BROADCASTS:
            for rank in range(size):
                # A broadcast is a copy: the root's very bits, on every rank.
                assert torch.equal(results[rank][algorithm.__name__, root], data(root, 7))
        for algorithm in REDUCES:
            torch.testing.assert_close(
                results[root][algorithm.__name__, root], serial_sum(size, 7), rtol=1e-12, atol=1e-12
            )
        for rank in range(size):
            if rank != root:
                # reduce_naive leaves the other ranks' tensors alone.
                assert torch.equal(results[rank]["reduce_naive", root], data(rank, 7))


def other_types(comm):
    """Whole numbers, half precision, more dimensions, and a leaf that wants a gradient."""
    whole = c.all_reduce_ring(comm, data(comm.rank, 11, torch.int64))
    half = c.all_reduce_halving_doubling(comm, torch.ones(5, dtype=torch.bfloat16))
    cube = c.all_reduce_ring(comm, data(comm.rank, 60).view(3, 4, 5))
    leaf = c.broadcast_tree(comm, torch.nn.Parameter(data(comm.rank, 6).view(2, 3)))
    scalar = c.broadcast_tree(comm, torch.tensor(comm.rank + 5))
    return whole, half, cube, leaf.detach(), scalar


def test_types_and_shapes(engine):
    for whole, half, cube, leaf, scalar in helpers.run(other_types, ranks=3, engine=engine):
        assert torch.equal(whole, serial_sum(3, 11, torch.int64))
        assert half.dtype == torch.bfloat16
        assert half.tolist() == [3.0] * 5
        torch.testing.assert_close(cube, serial_sum(3, 60).view(3, 4, 5), rtol=1e-12, atol=1e-12)
        assert torch.equal(leaf, data(0, 6).view(2, 3))
        assert scalar.item() == 5


def test_misuse_is_told_in_a_sentence():
    def transposed(comm):
        c.all_reduce_ring(comm, torch.ones(2, 3).t())

    with pytest.raises(RuntimeError, match="do not lie in one row"):
        helpers.run(transposed, ranks=2, engine="virtual")
    with pytest.raises(RuntimeError, match="ranks are 0 to 1"):
        helpers.run(c.broadcast_tree, torch.ones(2), 2, ranks=2, engine="virtual")
    with pytest.raises(RuntimeError, match="1 buffers for 2 ranks"):
        helpers.run(c.all_reduce_shared, [torch.ones(2)], ranks=2, engine="virtual")
    with pytest.raises(ValueError, match="cannot be cut"):
        c.chunk_bounds(3, 0)


# --- chunks and bytes -----------------------------------------------------------------------------


@given(length=st.integers(0, 10_000), parts=st.integers(1, 100))
def test_chunks_cover_everything_once(length, parts):
    bounds = c.chunk_bounds(length, parts)
    sizes = [stop - start for start, stop in bounds]
    assert [i for start, stop in bounds for i in range(start, stop)] == list(range(length))
    assert max(sizes) - min(sizes) <= 1


def ring(comm, length):
    """One ring, and nothing to return."""
    c.all_reduce_ring(comm, data(comm.rank, length))


@pytest.mark.parametrize(("size", "length"), [(1, 7), (2, 7), (3, 840), (5, 1001), (8, 840)])
def test_the_ring_sends_what_a_ring_has_to(engine, size, length):
    stats = helpers.run(ring, length, ranks=size, engine=engine).stats
    # 2(N − 1) messages a rank, on every rank alike.
    assert stats.messages == [2 * (size - 1)] * size
    assert stats.bytes == [c.ring_bytes(length, size, rank, 8) for rank in range(size)]
    if length % size == 0:
        # Exactly 2(N − 1)/N of the tensor, with no padding.
        assert stats.bytes == [2 * (size - 1) * length * 8 // size] * size
    # Over all ranks it is 2(N − 1) tensors, whatever the length.
    assert sum(stats.bytes) == 2 * (size - 1) * length * 8


@pytest.mark.parametrize("size", [1, 2, 8])
def test_halving_doubling_sends_few_messages_and_few_bytes(size):
    def job(comm):
        c.all_reduce_halving_doubling(comm, data(comm.rank, 160))

    stats = helpers.run(job, ranks=size, engine="virtual").stats
    assert stats.messages == [2 * int(math.log2(size))] * size
    assert stats.bytes == [2 * (size - 1) * 160 * 8 // size] * size


def test_shared_memory_sends_nothing(engine):
    stats = helpers.run(every_shared, ranks=3, engine=engine).stats
    assert stats.bytes == [0, 0, 0]


def every_shared(comm):
    """Longer than a block, so that the blocks are put together rightly."""
    length = 3 * c.BLOCK_BYTES // 8 + 5
    buffers = comm.shared((length,), torch.float64)
    buffers[comm.rank].copy_(data(comm.rank, length))
    value = c.all_reduce_shared(comm, buffers)
    expected = serial_sum(comm.size, length)
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
