"""The mistakes of exercise 11.5, by the weight and the bias that come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers.exercises.compare import describe
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_11.folding_ways import (
    Array,
    Numbers,
    bias_at_worst,
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
    ("no eps", _no_eps, "eps is left out: σ is the root of var + eps, as in training."),
    (
        "an eps of its own",
        _own_eps,
        "an eps of its own is in it, whatever `eps` says. The norm was trained with the one that "
        "is given.",
    ),
    (
        "divided by the variance",
        _by_variance,
        "you divided by the variance itself; σ is its root, √(var + eps).",
    ),
    (
        "eps behind the root",
        _eps_outside,
        "eps was added behind the root. It belongs inside: √(var + eps).",
    ),
    (
        "multiplied by σ",
        _times_sigma,
        "the weight was multiplied by σ, or divided by its inverse: the factor is γ/σ. Note that "
        "`torch.rsqrt` is 1/√ already.",
    ),
    ("γ twice", _gamma_twice, "γ is in it twice: the factor is γ/σ."),
    ("no γ", _no_gamma, "γ is left out: the factor is γ/σ."),
    ("weight left", _not_at_all, "the weight is the old one: each channel is taken times γ/σ."),
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


# --- what the bias tells --------------------------------------------------------------------------


def _no_old_bias(n: Numbers) -> Iterator[Array]:
    yield -n.mean * n.factor + n.beta


def _no_mean(n: Numbers) -> Iterator[Array]:
    yield n.bias * n.factor + n.beta


def _mean_added(n: Numbers) -> Iterator[Array]:
    yield (n.bias + n.mean) * n.factor + n.beta


def _mean_unscaled(n: Numbers) -> Iterator[Array]:
    yield n.bias * n.factor - n.mean + n.beta
    yield n.bias * n.factor - n.mean / n.sigma + n.beta
    yield n.bias * n.factor - n.mean * n.gamma + n.beta


def _bias_unscaled(n: Numbers) -> Iterator[Array]:
    yield n.bias - n.mean * n.factor + n.beta


def _nothing_scaled(n: Numbers) -> Iterator[Array]:
    yield n.bias - n.mean + n.beta


def _no_beta(n: Numbers) -> Iterator[Array]:
    yield (n.bias - n.mean) * n.factor


def _beta_scaled(n: Numbers) -> Iterator[Array]:
    yield (n.bias - n.mean + n.beta) * n.factor


def _gamma_twice_in_bias(n: Numbers) -> Iterator[Array]:
    yield (n.bias - n.mean) * n.factor * n.gamma + n.beta


def _no_gamma_in_bias(n: Numbers) -> Iterator[Array]:
    yield (n.bias - n.mean) / n.sigma + n.beta


def _bias_left(n: Numbers) -> Iterator[Array]:
    yield n.bias


def _beta_alone(n: Numbers) -> Iterator[Array]:
    yield n.bias + n.beta
    yield n.beta


BIASES: tuple[tuple[str, Way, str], ...] = (
    ("bias left", _bias_left, "it was left as it was. The norm moves it: (b − μ) · γ/σ + β."),
    ("β alone", _beta_alone, "neither mean nor factor is in it: (b − μ) · γ/σ + β."),
    (
        "no mean",
        _no_mean,
        "the mean is not subtracted: the norm takes μ from what the layer gives.",
    ),
    ("mean added", _mean_added, "the mean was added; the norm takes it away: b − μ."),
    (
        "no old bias",
        _no_old_bias,
        "the layer's own bias is left out; the norm came after it: (b − μ) · γ/σ + β.",
    ),
    (
        "mean not scaled",
        _mean_unscaled,
        "the mean goes through the norm too: all of b − μ is taken times γ/σ.",
    ),
    (
        "old bias not scaled",
        _bias_unscaled,
        "only the mean was multiplied. The old bias goes through the norm as well: all of b − μ "
        "is taken times γ/σ.",
    ),
    ("nothing scaled", _nothing_scaled, "the factor γ/σ is missing: (b − μ) · γ/σ + β."),
    ("no β", _no_beta, "β is missing: the norm adds it at its end."),
    (
        "β scaled",
        _beta_scaled,
        "β comes after the factor, and is not multiplied by it: (b − μ) · γ/σ + β.",
    ),
    (
        "γ twice in the bias",
        _gamma_twice_in_bias,
        "the bias has γ twice: (b − μ) · γ/σ + β, with the factor of the weight.",
    ),
    ("no γ in the bias", _no_gamma_in_bias, "the bias lacks γ: (b − μ) · γ/σ + β."),
)
"""What may have become of the bias instead, and what is said to it."""


def of_bias(way: Way, text: str) -> Look:
    """Recognises biases that came about in another way, beside a weight that is right."""

    def look(case: Case, seen: Observation) -> str | None:
        n, got = numbers(case), pair(seen)
        if got is None or not same(got[0], n.weight * n.beside(n.factor)):
            return None
        if same(got[1], right_bias(n)) or not any(same(got[1], each) for each in way(n)):
            return None
        return f"{case.name}, {bias_at_worst(got[1], n)}: {text}"

    return look


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
        "norm subtracts and adds has to go somewhere: −μ · γ/σ + β."
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
