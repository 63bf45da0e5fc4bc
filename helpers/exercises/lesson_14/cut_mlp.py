"""The MLP of exercise 14.1 in numpy: its terms, as any cut gives them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.exercises.spec import Case

Array = Any


def gelu(x: Array) -> Array:
    """x Φ(x), exactly."""
    return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2)))


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "ReLU": lambda x: np.maximum(x, 0),
    "GELU's approximation by tanh": lambda x: (
        0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "nothing": lambda x: x,
}
"""What people put in the place of GELU."""


def terms_of(
    case: Case, bounds: Sequence[tuple[int, int]], activation: Callable[[Array], Array] = gelu
) -> list[Array]:
    """Each rank's term of the sum, without the second bias."""
    x, up, up_bias, down, _ = case.args[0]
    hidden = activation(x @ up.T + up_bias)
    return [hidden[:, a:b] @ down[:, a:b].T for a, b in bounds]


def bounds_of(case: Case) -> list[tuple[int, int]]:
    """Each rank's hidden units."""
    hidden, n = case.facts["hidden"], case.ranks
    return [(r * hidden // n, (r + 1) * hidden // n) for r in range(n)]


def without_up_bias(case: Case) -> Array:
    """What the dense MLP gives whose first layer has no bias."""
    x, up, _, down, down_bias = case.args[0]
    return gelu(x @ up.T) @ down.T + down_bias


def bias_of(case: Case) -> Array:
    """The bias that is added once."""
    return case.args[0][4]


def want_of(case: Case, activation: Callable[[Array], Array] = gelu) -> Array:
    """What the dense MLP gives."""
    return sum(terms_of(case, bounds_of(case), activation)) + bias_of(case)
