"""Which model to choose, and how good the chosen one is: rows that neither has seen before."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def folds(rows: int, count: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Cross-validation: for each fold the rows to train on, and those to judge by, ascending.

    rows: how many there are. count: of folds, 2 to rows. Each row is judged by once; the folds'
    sizes differ by one at most. Raises ValueError for another count.
    """
    if not 2 <= count <= rows:
        raise ValueError(f"{rows} rows make 2 to {rows} folds, not {count}.")
    order = np.random.default_rng(seed).permutation(rows)
    parts = [np.sort(part) for part in np.array_split(order, count)]
    everything = np.arange(rows)
    return [(np.setdiff1d(everything, part, assume_unique=True), part) for part in parts]


def paired_p_value(first: Sequence[bool], second: Sequence[bool]) -> float:
    """How likely two classifiers differ so much on the same rows if they were equally good.

    first, second: whether each row was right. Only the rows on which they differ say anything: if
    both were equally good, either would be the right one on half of them. Two-sided and exact.
    Source: McNemar, "Note on the sampling error of the difference between correlated proportions"
    (1947), with the binomial distribution itself.
    """
    if len(first) != len(second):
        raise ValueError(f"A pair has as many rows as its other half: {len(first)}, {len(second)}.")
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    apart = only_first + only_second
    tail = sum(math.comb(apart, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / 2**apart)
