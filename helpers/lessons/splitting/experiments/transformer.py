"""A small decoder-only Transformer, as a list of layers that a pipeline or a mesh can cut.

Pre-norm blocks as in Radford et al., "Language Models are Unsupervised Multitask Learners" (2019),
section 2.3, after Vaswani et al. (2017); no dropout, so that every run gives the same numbers.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class Embedding(nn.Module):
    """Tokens (rows, length), whole numbers, to vectors (rows, length, width), with positions."""

    def __init__(self, vocabulary: int, width: int, length: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width, dtype=dtype)
        self.positions = nn.Embedding(length, width, dtype=dtype)

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        vectors: Tensor = self.tokens(tokens) + self.positions(places)
        return vectors


class Attention(nn.Module):
    """Causal self-attention with several heads: (rows, length, width) to the same shape."""

    def __init__(self, width: int, heads: int, dtype: torch.dtype) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"{heads} heads do not divide a width of {width}.")
        self.heads = heads
        self.query, self.key, self.value, self.out = (
            nn.Linear(width, width, dtype=dtype) for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        mixed = attend(self.query(x), self.key(x), self.value(x), self.heads)
        return torch.as_tensor(self.out(mixed))


def attend(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
    """Softmax(q kᵀ / √d) v for each head, no position seeing a later one.

    query, key, value: (rows, length, heads · d). Returns the same shape. Vaswani et al., 3.2.
    """
    rows, length, width = query.shape
    q, k, v = (t.view(rows, length, heads, -1).transpose(1, 2) for t in (query, key, value))
    scores = q @ k.transpose(2, 3) / math.sqrt(width // heads)
    later = torch.ones(length, length, dtype=torch.bool, device=query.device).triu(1)
    weights = scores.masked_fill(later, -math.inf).softmax(-1)
    return (weights @ v).transpose(1, 2).reshape(rows, length, width)


class Mlp(nn.Module):
    """width → hidden → width, with GELU between: applied to each position."""

    def __init__(self, width: int, hidden: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.up = nn.Linear(width, hidden, dtype=dtype)
        self.down = nn.Linear(hidden, width, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.down(functional.gelu(self.up(x))))


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)): (rows, length, width) to the same shape."""

    def __init__(self, width: int, heads: int, hidden: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.first, self.second = (nn.LayerNorm(width, dtype=dtype) for _ in range(2))
        self.attention = Attention(width, heads, dtype)
        self.mlp = Mlp(width, hidden, dtype)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first(x))
        return x + torch.as_tensor(self.mlp(self.second(x)))


class Head(nn.Module):
    """Vectors (rows, length, width) to a score for every token: (rows, length, vocabulary)."""

    def __init__(self, vocabulary: int, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width, dtype=dtype)
        self.scores = nn.Linear(width, vocabulary, bias=False, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.scores(self.norm(x)))


def transformer(
    vocabulary: int = 64,
    width: int = 32,
    heads: int = 4,
    blocks: int = 4,
    length: int = 16,
    tied: bool = False,
    dtype: torch.dtype = torch.float32,
    seed: int | None = 0,
) -> nn.Sequential:
    """Embedding, `blocks` blocks with an MLP four times as wide, head: `blocks` + 2 layers.

    Tokens (rows, length) to scores (rows, length, vocabulary). tied: the head's scores use the
    embedding's own weight. seed: as for `mlp`; None takes torch's generator as it is.
    """
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        first, last = Embedding(vocabulary, width, length, dtype), Head(vocabulary, width, dtype)
        inner = [Block(width, heads, 4 * width, dtype) for _ in range(blocks)]
        nn.init.normal_(first.tokens.weight, std=width**-0.5)
    if tied:
        last.scores.weight = first.tokens.weight
    return nn.Sequential(first, *inner, last)


def token_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy over all positions. scores (rows, length, vocabulary), targets ids."""
    return functional.cross_entropy(scores.flatten(0, -2), targets.flatten())


def text(rows: int, length: int, vocabulary: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Tokens and the tokens that follow them, both (rows, length): a sequence that can be learnt.

    Each token is five times the one before it plus three, modulo the vocabulary, but for one in
    eight that is drawn at random.
    """
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(vocabulary, (rows, length + 1), generator=generator)
    odd = torch.rand(rows, length + 1, generator=generator) < 0.125
    for place in range(1, length + 1):
        follows = (5 * ids[:, place - 1] + 3) % vocabulary
        ids[:, place] = torch.where(odd[:, place], ids[:, place], follows)
    return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
