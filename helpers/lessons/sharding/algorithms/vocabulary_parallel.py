"""A vocabulary cut over the ranks: embedding, scores and loss, none of which is ever put together.

A table of V tokens is cut by rows: a rank looks up the tokens that it has and adds zeros for the
others. The scores of all tokens are V numbers for every position; each rank has those of its own
tokens, and the loss needs only three numbers a position from it: its largest score, its sum of
exponentials, and the target's score if the target is its own.
Source: Shoeybi et al., "Megatron-LM" (2019), section 3 (parallel embedding and cross-entropy).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, chunk_bounds
from helpers.lessons.sharding.algorithms.maximum import all_reduce_max
from helpers.lessons.sharding.algorithms.tensor_parallel import (
    ColumnLinear,
    Pair,
    Reduce,
    f_and_g,
    parallel_block,
    part_of,
    tie_as,
)

if TYPE_CHECKING:
    from helpers.lessons.sharding.algorithms.tensor_parallel import Ranks
Loss = Callable[[Any, Tensor, Tensor, int], tuple[Tensor, Tensor]]
"""Loss and gradient of scores that are cut over ranks: `compute(comm, scores, targets, first)`."""


class VocabularyEmbedding(nn.Module):
    """Some tokens' vectors: tokens (…), the same on all ranks, to vectors (…, width).

    dense: the whole embedding, the same on every rank. weight: (tokens here, width). first: the
    first token of this rank. vocabulary: all tokens. Raises ValueError for one with a padding
    token, a largest norm or gradients by frequency.
    """

    def __init__(self, dense: nn.Embedding, comm: Ranks, pair: Pair = f_and_g) -> None:
        super().__init__()
        if dense.padding_idx is not None or dense.max_norm or dense.scale_grad_by_freq:
            raise ValueError(
                "An embedding cut over ranks has no padding_idx, max_norm or scale_grad_by_freq."
            )
        self.vocabulary = dense.num_embeddings
        self.first, stop = chunk_bounds(self.vocabulary, comm.size)[comm.rank]
        self.weight = part_of(dense.weight, self.first, stop)
        _, self.g = pair(comm)

    def forward(self, tokens: Tensor) -> Tensor:
        if tokens.numel() and not 0 <= int(tokens.min()) <= int(tokens.max()) < self.vocabulary:
            raise IndexError(
                f"A token is none of the {self.vocabulary}, 0 to {self.vocabulary - 1}."
            )
        mine = (tokens >= self.first) & (tokens < self.first + len(self.weight))
        vectors = self.weight.new_zeros(*tokens.shape, self.weight.shape[1])
        vectors[mine] = functional.embedding(tokens[mine] - self.first, self.weight)
        return self.g(vectors)


class ParallelEmbedding(nn.Module):
    """Tokens (rows, length) to vectors (rows, length, width), with positions.

    The positions are few, so every rank has them whole, and adds them after the sum.
    """

    def __init__(self, dense: Any, comm: Ranks, pair: Pair) -> None:
        super().__init__()
        self.tokens = VocabularyEmbedding(dense.tokens, comm, pair)
        self.positions = copy.deepcopy(dense.positions)

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return torch.as_tensor(self.tokens(tokens) + self.positions(places))


class ParallelHead(nn.Module):
    """Vectors (rows, length, width) to the scores of this rank's tokens, (rows, length, here)."""

    def __init__(self, dense: Any, comm: Ranks, pair: Pair) -> None:
        super().__init__()
        self.norm = copy.deepcopy(dense.norm)
        self.scores = ColumnLinear(dense.scores, comm, pair=pair)

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.scores(self.norm(x)))


def loss_and_gradient(
    comm: Ranks, scores: Tensor, targets: Tensor, first: int, reduce: Reduce = all_reduce_ring
) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy of scores that are cut by tokens, and its gradient.

    scores: (positions, tokens here), of tokens first to first + tokens here - 1; it may be none.
    targets: (positions,). Returns the loss, the same scalar on every rank, and the gradient of this
    rank's scores.
    """
    positions, here = scores.shape
    top = scores.new_full((positions,), -math.inf)
    if here:
        top = scores.amax(1)
    all_reduce_max(comm, top)  # type: ignore[arg-type]
    weights = (scores - top[:, None]).exp_()
    mine = ((targets >= first) & (targets < first + here)).nonzero()[:, 0]
    columns = targets[mine] - first
    sums = scores.new_zeros(2, positions)  # both in one all-reduce
    sums[0] = weights.sum(1)
    sums[1, mine] = scores[mine, columns] - top[mine]
    reduce(comm, sums)
    gradient = weights.div_(sums[0, :, None])
    gradient[mine, columns] -= 1
    return (sums[0].log() - sums[1]).mean(), gradient.div_(positions)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, comm: Ranks, scores: Tensor, targets: Tensor, first: int, compute: Loss
    ) -> Tensor:
        loss, gradient = compute(comm, scores.detach(), targets, first)
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (gradient,) = ctx.saved_tensors
        return None, gradient * gradients[0], None, None, None


def vocabulary_cross_entropy(
    comm: Ranks,
    scores: Tensor,
    targets: Tensor,
    vocabulary: int,
    compute: Loss = loss_and_gradient,
) -> Tensor:
    """Mean cross-entropy over all positions, from scores that are cut over the ranks.

    scores: (…, tokens here), this rank's part by `chunk_bounds(vocabulary, N)`. targets: (…), ids
    of the whole vocabulary, the same on every rank. compute: as `loss_and_gradient` does, as
    somebody else has written it. Returns the same scalar on every rank. Two
    all-reduces, of one number a position (the maximum, which keeps the exponentials in range) and
    of two (sum and target's score), whatever the vocabulary; backward sends nothing.
    Raises ValueError where the shapes do not fit or a target is no token of the vocabulary.
    """
    first, stop = chunk_bounds(vocabulary, comm.size)[comm.rank]
    if not targets.numel():
        raise ValueError("There are no targets, and so no mean over them.")
    if scores.shape != (*targets.shape, stop - first):
        raise ValueError(
            f"Rank {comm.rank} has tokens {first} to {stop - 1} of {vocabulary}, so its scores are "
            f"the targets' shape {tuple(targets.shape)} and {stop - first} more, not "
            f"{tuple(scores.shape)}."
        )
    if targets.amin() < 0 or targets.amax() >= vocabulary:
        raise ValueError(f"A target is not one of the {vocabulary} tokens 0 to {vocabulary - 1}.")
    flat = scores.reshape(-1, stop - first) if stop > first else scores.reshape(targets.numel(), 0)
    if flat.dtype in (torch.float16, torch.bfloat16):
        flat = flat.float()  # a sum of many exponentials needs the digits
    loss: Tensor = _CrossEntropy.apply(comm, flat, targets.reshape(-1), first, compute)
    return loss


def parallel_transformer(model: nn.Sequential, comm: Ranks, pair: Pair = f_and_g) -> nn.Sequential:
    """This rank's part of a dense Transformer: an embedding, blocks, and a head.

    model: the embedding has `tokens` and `positions`, the head `norm` and `scores`, the blocks
    what `parallel_block` asks for. pair: as there. Every rank gets rank 0's parameters first (this
    changes `model`). What it returns gives the scores of this rank's tokens, for
    `vocabulary_cross_entropy`; its parameters have the dense model's names, and those that are
    tied there are tied here.
    """
    broadcast_parameters(model, comm)  # type: ignore[arg-type]
    layers: list[Any] = list(model)
    first, *blocks, last = layers
    made = nn.Sequential(
        ParallelEmbedding(first, comm, pair),
        *(parallel_block(block, comm, pair, broadcast=False) for block in blocks),
        ParallelHead(last, comm, pair),
    )
    tie_as(model, made)
    return made
