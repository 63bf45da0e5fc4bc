"""The mistakes of exercise 11.5 in the weight, and in how it went."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers.exercises.compare import describe, is_array
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_11.folding_ways import (
    Array,
    Numbers,
    numbers,
    pair,
    right_bias,
    same,
    weight_at_worst,
)
from helpers.exercises.spec import Case, Look, Observation

ARGUMENTS = ("weight", "bias", "mean", "var", "gamma", "beta")

# --- what the weight tells ------------------------------------------------------------------------

Way = Callable[[Numbers], Iterator[Array]]


def _no_eps(n: Numbers) -> Iterator[Array]:
    yield n.gamma / np.sqrt(n.var)


def _own_eps(n: Numbers) -> Iterator[Array]:
    for eps in (1e-5, 1e-3, 1e-6, 1e-8):
        if eps != n.eps:
            yield n.gamma / np.sqrt(n.var + eps)


def _by_variance(n: Numbers) -> Iterator[Array]:
    yield n.gamma / (n.var + n.eps)
    yield n.gamma / n.var


def _eps_outside(n: Numbers) -> Iterator[Array]:
    yield n.gamma / (np.sqrt(n.var) + n.eps)


def _times_sigma(n: Numbers) -> Iterator[Array]:
    yield n.gamma * n.sigma
    yield n.gamma * np.sqrt(n.var)


def _gamma_twice(n: Numbers) -> Iterator[Array]:
    yield n.gamma**2 / n.sigma


def _no_gamma(n: Numbers) -> Iterator[Array]:
    yield 1 / n.sigma


def _not_at_all(n: Numbers) -> Iterator[Array]:
    yield np.ones_like(n.gamma)


FACTORS: tuple[tuple[str, Way, str], ...] = (
    ("no eps", _no_eps, "eps is left out: the root is that of var + eps, as in training."),
    (
        "an eps of its own",
        _own_eps,
        "an eps of its own is in it, whatever `eps` says. The norm was trained with the one that "
        "is given.",
    ),
    (
        "divided by the variance",
        _by_variance,
        "you divided by the variance itself, and not by its root, √(var + eps).",
    ),
    (
        "eps behind the root",
        _eps_outside,
        "eps was added behind the root. It belongs inside: √(var + eps).",
    ),
    (
        "multiplied by the root",
        _times_sigma,
        "the weight was multiplied by √(var + eps), or divided by its inverse: the factor is "
        "γ/√(var + eps). Note that `torch.rsqrt` is 1/√ already.",
    ),
    ("γ twice", _gamma_twice, "γ is in it twice: the factor is γ/√(var + eps)."),
    ("no γ", _no_gamma, "γ is left out: the factor is γ/√(var + eps)."),
    (
        "weight left",
        _not_at_all,
        "the weight is the old one: each channel is to be taken times γ/√(var + eps).",
    ),
)
"""What the weight may have been multiplied by instead, and what is said to it."""


def of_weight(way: Way, text: str) -> Look:
    """Recognises weights that were multiplied by something else."""

    def look(case: Case, seen: Observation) -> str | None:
        n, got = numbers(case), pair(seen)
        if got is None or same(got[0], n.weight * n.beside(n.factor)):
            return None
        if not any(same(got[0], n.weight * n.beside(factor)) for factor in way(n)):
            return None
        return f"{case.name}, {weight_at_worst(got[0], n)}: {text}"

    return look


def for_convolutions_alone(case: Case, seen: Observation) -> str | None:
    """A factor of four dimensions for a weight of two."""
    n, got = numbers(case), pair(seen)
    if got is None or n.weight.ndim != 2 or not is_array(got[0]) or got[0].ndim != 4:
        return None
    return (
        f"{case.name}, the weight has come to have four dimensions, {describe(got[0])}: a linear "
        "layer's has two. The factor needs as many ones as the weight has dimensions behind the "
        "first: `factor.view(-1, *[1] * (weight.dim() - 1))`."
    )


def wrong_dimension(case: Case, seen: Observation) -> str | None:
    """The factor met another dimension of the weight."""
    n, got = numbers(case), pair(seen)
    if got is None or same(got[0], n.weight * n.beside(n.factor)):
        return None
    for dimension in range(1, n.weight.ndim):
        shape = [1] * n.weight.ndim
        shape[dimension] = -1
        if n.weight.shape[dimension] != len(n.factor):
            continue
        if same(got[0], n.weight * n.factor.reshape(shape)):
            return (
                f"{case.name}, the factor lies along dimension {dimension} of the weight, which "
                f"happens to fit. Channels going out are dimension 0: {_view(n)}."
            )
    return None


def _view(n: Numbers) -> str:
    ones = ", 1" * (n.weight.ndim - 1)
    return f"give the factor the shape (out{ones}) with `factor.view(-1{ones})`"


# --- how it went ----------------------------------------------------------------------------------


def none_used(case: Case, seen: Observation) -> str | None:
    """Counted with a bias that is None."""
    if seen.trouble != "failed" or case.args[0][1] is not None or "None" not in seen.text:
        return None
    return (
        f"{case.name}, you counted with a bias that is not there: `bias` is None here, as with "
        "most layers in front of a batch norm. It counts as 0, and a bias comes out all the same."
    )


def does_not_fit(case: Case, seen: Observation) -> str | None:
    """Tensors whose shapes do not fit."""
    if seen.trouble != "failed" or "must match the size" not in seen.text:
        return None
    n = numbers(case)
    return (
        f"{case.name}, one number for each channel was laid along another dimension of the weight, "
        f"{n.weight.shape}, where there are not as many: {_view(n)}."
    )


def no_pair(case: Case, seen: Observation) -> str | None:
    """A weight and nothing else."""
    if pair(seen) is not None:
        return None
    return (
        f"{case.name}, you returned {describe(returned(seen.values[0]))}. Return both: the pair "
        "(weight, bias)."
    )


def bias_first(case: Case, seen: Observation) -> str | None:
    """The pair the other way round."""
    got = pair(seen)
    if got is None or not same(got[0], right_bias(numbers(case))):
        return None
    return f"{case.name}, the bias comes first in what you returned: the pair is (weight, bias)."


def no_bias(case: Case, seen: Observation) -> str | None:
    """None for a bias."""
    got = pair(seen)
    if got is None or got[1] is not None:
        return None
    return (
        f"{case.name}, you returned None for the bias. The layer may have had none, but what the "
        "norm subtracts and adds has to go somewhere: −μ · γ/√(var + eps) + β."
    )


def written_into(case: Case, seen: Observation) -> str | None:
    """An argument is not as it was."""
    place = changed(seen.values[0])
    if place is None:
        return None
    return (
        f"{case.name}, you wrote into `{ARGUMENTS[place]}`: that is the model's own tensor, and "
        "the model that was trained is no more. Make a new one."
    )
