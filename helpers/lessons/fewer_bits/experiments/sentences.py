"""Sentences of a small language, character by character: a text that nobody has to download.

A grammar of a few dozen words makes them, by a seed, so that there is as much text as is asked for
and everybody has the same. A model that has learned the words and their order guesses most
characters; which word comes next it cannot know, so its loss stays above 0.
"""

from __future__ import annotations

import random
from functools import lru_cache

import torch
from torch import Tensor, nn

_WHO = ("the server", "a worker", "rank zero", "the last rank", "every rank", "the slow worker")
_DOES = ("sends", "keeps", "sums", "drops", "waits for", "rounds", "forgets", "asks for")
_WHAT = ("a gradient", "its weights", "the mean", "two bytes", "an old message", "the whole ring")
_WHEN = ("at once", "in the end", "before the step", "after the sum", "once more", "too late")
_AND = (", and ", ", but ", " while ")
ALPHABET = " .,abcdefghijklmnopqrstuvwxyz"
CONTEXT = 10


@lru_cache(maxsize=4)
def text(length: int, seed: int = 0) -> str:
    """So many characters of sentences, the same for a seed everywhere."""
    draw = random.Random(seed)
    made: list[str] = []
    size = 0
    while size < length:
        parts = [_clause(draw)]
        if draw.random() < 0.3:
            parts += [draw.choice(_AND), _clause(draw)]
        sentence = "".join(parts) + ". "
        made.append(sentence)
        size += len(sentence)
    return "".join(made)[:length]


def _clause(draw: random.Random) -> str:
    words = [draw.choice(_WHO), draw.choice(_DOES), draw.choice(_WHAT)]
    if draw.random() < 0.5:
        words.append(draw.choice(_WHEN))
    return " ".join(words)


@lru_cache(maxsize=4)
def characters(length: int = 20_000, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Contexts (rows, CONTEXT) and the character after each (rows,), int64 numbers in ALPHABET."""
    codes = torch.tensor([ALPHABET.index(c) for c in text(length, seed)])
    return codes[:-1].unfold(0, CONTEXT, 1), codes[CONTEXT:]


class CharacterModel(nn.Module):
    """The next character's scores from the last CONTEXT ones: a table, and two layers.

    Source: Bengio et al., "A Neural Probabilistic Language Model" (2003), section 2, in small.
    """

    def __init__(self, width: int = 12, hidden: int = 96) -> None:
        super().__init__()
        self.table = nn.Embedding(len(ALPHABET), width)
        self.layers = nn.Sequential(
            nn.Flatten(),
            nn.Linear(CONTEXT * width, hidden),
            nn.Tanh(),
            nn.Linear(hidden, len(ALPHABET)),
        )

    def forward(self, contexts: Tensor) -> Tensor:
        """contexts: (rows, CONTEXT). Returns (rows, characters)."""
        return torch.as_tensor(self.layers(self.table(contexts)))
