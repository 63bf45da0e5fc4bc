"""Ring attention against attention in one piece, forward and backward, in float64."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import helpers
from helpers.lessons.sharding.algorithms.ring_attention import attention_in_ring, ring_attention
from helpers.lessons.sharding.algorithms.sequence_places import contiguous, pairs, striped

TIGHT = {"rtol": 1e-10, "atol": 1e-10}
HEADS, WIDTH = 2, 3
CUTS = {"contiguous": contiguous, "striped": striped}


def tensors(length: int) -> list[torch.Tensor]:
    """Query, key, value and what the loss multiplies by, each (heads, length, width)."""
    draw = torch.Generator().manual_seed(length)
    return [torch.randn(HEADS, length, WIDTH, generator=draw).double() for _ in range(4)]


def plain(length: int, causal: bool):
    """The output and the gradients of attention in one piece, written out."""
    query, key, value, weights = tensors(length)
    leaves = [t.requires_grad_() for t in (query, key, value)]
    scores = query @ key.transpose(1, 2) / WIDTH**0.5
    if causal:
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    out = scores.softmax(-1) @ value
    (out * weights).sum().backward()
    return [out.detach(), *(leaf.grad for leaf in leaves)], scores.logsumexp(-1).detach()


def in_ring(comm, cut: str, length: int, causal: bool):
    """This rank's part of the same, and the logarithms of its sums."""
    places = CUTS[cut](length, comm.size)
    mine = [t[:, places[comm.rank]] for t in tensors(length)]
    before = [t.clone() for t in mine]
    leaves = [t.clone().requires_grad_() for t in mine[:3]]
    out = attention_in_ring(comm, *leaves, places if causal else None)
    (out * mine[3]).sum().backward()
    log_sums = ring_attention(comm, *mine[:3], places if causal else None)[1]
    assert all(torch.equal(now, then) for now, then in zip(mine, before, strict=True))
    return [out.detach(), *(leaf.grad for leaf in leaves)], log_sums, places[comm.rank]


@pytest.mark.parametrize(
    ("size", "length", "cut"),
    [
        # 13, of which no size but 1 is a divisor; and ranks without positions.
        *((size, 13, cut) for size in (1, 2, 3, 5) for cut in CUTS),
        *((5, 1, "striped"), (5, 2, "contiguous"), (5, 16, "striped")),
    ],
)
@pytest.mark.parametrize("causal", [True, False])
def test_equal_to_attention_in_one_piece(engine, size, length, cut, causal):
    whole, log_sums = plain(length, causal)
    for mine, sums, places in helpers.run(in_ring, cut, length, causal, ranks=size, engine=engine):
        torch.testing.assert_close(sums, log_sums[:, places], **TIGHT)
        for part, dense in zip(mine, whole, strict=True):
            torch.testing.assert_close(part, dense[:, places], **TIGHT)


def only_forward(comm, length: int, backward: bool):
    places = contiguous(length, comm.size)
    leaves = [t[:, places[comm.rank]].clone().requires_grad_() for t in tensors(length)[:3]]
    out = attention_in_ring(comm, *leaves, places)
    if backward:
        out.sum().backward()


@pytest.mark.parametrize("size", [3, 5])
def test_a_rank_sends_each_block_but_its_neighbours_and_to_its_right_alone(size):
    length, item = 13, HEADS * WIDTH * 8
    blocks = [2 * item * len(p) for p in contiguous(length, size)]
    runs = [helpers.run(only_forward, length, b, ranks=size, engine="virtual") for b in (0, 1)]
    for rank in range(size):
        passed = sum(blocks) - blocks[(rank + 1) % size]
        assert runs[0].stats.bytes[rank] == passed
        assert runs[0].stats.messages[rank] == size - 1
        # Backward: the blocks once more, and all blocks' gradients, of which the last goes home.
        assert runs[1].stats.bytes[rank] == 2 * passed + sum(blocks)


# --- where the positions lie ----------------------------------------------------------------------


@given(length=st.integers(0, 60), ranks=st.integers(1, 7))
def test_every_position_lies_on_one_rank(length, ranks):
    for cut in CUTS.values():
        places = cut(length, ranks)
        assert len(places) == ranks
        assert sorted(torch.cat(places).tolist()) == list(range(length))
        sizes = [len(p) for p in places]
        assert max(sizes) - min(sizes) <= 1


@given(length=st.integers(1, 60), ranks=st.integers(1, 7))
def test_striped_work_is_within_one_block_of_equal(length, ranks):
    work = pairs(striped(length, ranks))
    longest = -(-length // ranks)
    # Over the whole ring, and in each of its steps.
    assert int(work.sum(1).max() - work.sum(1).min()) <= max(longest * (ranks - 1), longest)
    assert all(int(step.max() - step.min()) <= longest for step in work.T)
    assert int(work.sum()) == length * (length + 1) // 2
    # Contiguous, 4 on 2 ranks: rank 0 sees no key of rank 1's; rank 1 all of rank 0's.
    assert pairs(contiguous(4, 2)).tolist() == [[3, 0], [3, 4]]
    assert pairs(striped(4, 2), causal=False).tolist() == [[4, 4], [4, 4]]
