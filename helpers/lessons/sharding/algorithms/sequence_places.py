"""Which positions of a sequence lie on which rank, and how much a causal mask leaves each to do.

Under a causal mask a query sees its own position and the earlier ones: n of them for the n-th. In
contiguous parts the last rank's queries see nearly everything and the first rank's nearly nothing.
Dealt out in turn, like cards, every rank has early and late positions.
Source: Brandon et al., "Striped Attention: Faster Ring Attention for Causal Transformers" (2023),
section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from helpers.lessons.messages.algorithms.collectives import chunk_bounds


def contiguous(length: int, ranks: int) -> list[Tensor]:
    """Each rank's positions, whole numbers in rising order: rank 0 has the first, and so on.

    Parts differ by one position at most. Example: contiguous(5, 2) is [0, 1] and [2, 3, 4].
    Raises ValueError where there is no such cut.
    """
    return [torch.arange(start, stop) for start, stop in chunk_bounds(length, ranks)]


def striped(length: int, ranks: int) -> list[Tensor]:
    """Each rank's positions where they are dealt out in turn: rank r has r, r + N, r + 2N, …

    Example: striped(5, 2) is [0, 2, 4] and [1, 3].
    Raises ValueError as `contiguous` does.
    """
    chunk_bounds(length, ranks)
    return [torch.arange(length)[rank::ranks].contiguous() for rank in range(ranks)]


def pairs(places: Sequence[Tensor], causal: bool = True) -> Tensor:
    """How many query-key pairs each rank works on in each step of the ring: (ranks, steps).

    In step s a rank has the keys that rank r − s began with (`ring_attention`). Without a mask
    that is the product of two lengths; with it, pairs whose key is not later than its query.
    """
    ranks = len(places)
    counts = torch.zeros(ranks, ranks, dtype=torch.long)
    for rank, queries in enumerate(places):
        for step in range(ranks):
            keys = places[(rank - step) % ranks]
            # For each query, how many keys are not later.
            seen = torch.searchsorted(keys.sort().values, queries.contiguous(), right=True)
            counts[rank, step] = seen.sum() if causal else len(queries) * len(keys)
    return counts
