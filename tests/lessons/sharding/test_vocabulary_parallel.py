"""An embedding and a loss over a vocabulary that is cut over the ranks."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

import helpers
from helpers.lessons.messages.algorithms.collectives import chunk_bounds, ring_bytes
from helpers.lessons.sharding.algorithms.maximum import all_reduce_max
from helpers.lessons.sharding.algorithms.vocabulary_parallel import (
    VocabularyEmbedding,
    vocabulary_cross_entropy,
)

SIZES = [1, 2, 3, 5]
TIGHT = {"rtol": 1e-12, "atol": 1e-12}
VOCABULARY = 11


def _scores(scale=1.0):
    generator = torch.Generator().manual_seed(0)
    scores = scale * torch.randn(2, 3, VOCABULARY, generator=generator, dtype=torch.float64)
    return scores, torch.randint(VOCABULARY, (2, 3), generator=generator)


def _loss_of_a_part(comm, scale):
    scores, targets = _scores(scale)
    start, stop = chunk_bounds(VOCABULARY, comm.size)[comm.rank]
    mine = scores[..., start:stop].clone().requires_grad_()
    loss = vocabulary_cross_entropy(comm, mine, targets, VOCABULARY)
    (3 * loss).backward()
    return loss.detach(), mine.grad


@pytest.mark.parametrize(("size", "scale"), [*((size, 1.0) for size in SIZES), (3, 1e4), (13, 1.0)])
def test_the_loss_and_its_gradient_are_the_dense_ones(size, scale):
    scores, targets = _scores(scale)
    scores.requires_grad_()
    want = nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
    (3 * want).backward()
    results = helpers.run(_loss_of_a_part, scale, ranks=size, engine="virtual")
    for rank, (loss, gradient) in enumerate(results):
        start, stop = chunk_bounds(VOCABULARY, size)[rank]
        torch.testing.assert_close(loss, want.detach(), **TIGHT)
        torch.testing.assert_close(gradient, scores.grad[..., start:stop], **TIGHT)


@pytest.mark.parametrize("vocabulary", [VOCABULARY, 1000])
def test_the_bytes_do_not_grow_with_the_vocabulary(vocabulary):
    def job(comm):
        start, stop = chunk_bounds(vocabulary, comm.size)[comm.rank]
        scores = torch.zeros(6, stop - start, dtype=torch.float64, requires_grad=True)
        targets = torch.arange(6)
        vocabulary_cross_entropy(comm, scores, targets, vocabulary).backward()

    results = helpers.run(job, ranks=3, engine="virtual")
    # The maximum in two rounds of whole tensors, then a ring with two numbers a position.
    assert list(results.stats.bytes) == [2 * 6 * 8 + ring_bytes(12, 3, r, 8) for r in range(3)]


@pytest.mark.parametrize("size", SIZES)
def test_an_embedding_cut_by_tokens(engine, size):
    def table():
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return nn.Embedding(4, 3, dtype=torch.float64)

    tokens = torch.tensor([[0, 3, 3], [1, 2, 0]])

    def job(comm):
        cut = VocabularyEmbedding(table(), comm)
        vectors = cut(tokens)
        vectors.square().sum().backward()
        return vectors.detach(), cut.weight.grad

    whole = table()
    vectors = whole(tokens)
    vectors.square().sum().backward()
    for rank, (got, gradient) in enumerate(helpers.run(job, ranks=size, engine=engine)):
        start, stop = chunk_bounds(4, size)[rank]
        assert torch.equal(got, vectors.detach())
        torch.testing.assert_close(gradient, whole.weight.grad[start:stop], **TIGHT)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_the_largest_of_all_ranks(size):
    def job(comm):
        mine = torch.tensor([float(comm.rank), -float(comm.rank), -math.inf])
        return all_reduce_max(comm, mine)

    results = helpers.run(job, ranks=size, engine="virtual")
    for tensor in results:
        assert tensor.tolist() == [size - 1.0, 0.0, -math.inf]
    assert set(results.stats.messages) == {math.ceil(math.log2(size))}


def test_what_does_not_fit_is_refused():
    def job(comm):
        with pytest.raises(IndexError, match="none of the 7, 0 to 6"):
            VocabularyEmbedding(nn.Embedding(7, 2), comm)(torch.tensor([3, 7]))
        targets = torch.zeros(2, dtype=torch.int64)
        with pytest.raises(ValueError, match="has tokens"):
            vocabulary_cross_entropy(comm, torch.zeros(2, VOCABULARY), targets, VOCABULARY)
        start, stop = chunk_bounds(VOCABULARY, comm.size)[comm.rank]
        with pytest.raises(ValueError, match="not one of the 11 tokens"):
            vocabulary_cross_entropy(
                comm, torch.zeros(2, stop - start), targets + VOCABULARY, VOCABULARY
            )

    helpers.run(job, ranks=2, engine="virtual")
