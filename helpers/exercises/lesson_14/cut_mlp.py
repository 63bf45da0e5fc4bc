"""The MLP of exercise 14.1 in numpy: its terms, as any cut gives them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.spec import Case

Array = Any


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))


def terms_of(case: Case, bounds: Sequence[tuple[int, int]]) -> list[Array]:
    """Each rank's term of the sum, without the second bias."""
    x, up, up_bias, down, _ = case.args[0]
    hidden = gelu(x @ up.T + up_bias)
    return [hidden[:, a:b] @ down[:, a:b].T for a, b in bounds]


def bounds_of(case: Case) -> list[tuple[int, int]]:
    hidden, n = case.facts["hidden"], case.ranks
    return [(r * hidden // n, (r + 1) * hidden // n) for r in range(n)]


def bias_of(case: Case) -> Array:
    return case.args[0][4]


def want_of(case: Case) -> Array:
    return sum(terms_of(case, bounds_of(case))) + bias_of(case)
