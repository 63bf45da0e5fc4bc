"""The mistakes of exercise 11.5 in the bias, where the weight is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from helpers.exercises.lesson_11.folding_ways import (
    Array,
    Numbers,
    bias_at_worst,
    numbers,
    pair,
    right_bias,
    same,
)
from helpers.exercises.spec import Case, Look, Observation

Way = Callable[[Numbers], Iterator[Array]]


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
    (
        "bias left",
        _bias_left,
        "it was left as it was. The norm moves it: (b − μ) · factor + β.",
    ),
    ("β alone", _beta_alone, "neither mean nor factor is in it: (b − μ) · factor + β."),
    (
        "no mean",
        _no_mean,
        "the mean is not subtracted: the norm takes μ from what the layer gives.",
    ),
    ("mean added", _mean_added, "the mean was added; the norm takes it away: b − μ."),
    (
        "no old bias",
        _no_old_bias,
        "the layer's own bias is left out; the norm came after it: (b − μ) · factor + β.",
    ),
    (
        "mean not scaled",
        _mean_unscaled,
        "the mean goes through the norm too: all of b − μ is taken times the factor.",
    ),
    (
        "old bias not scaled",
        _bias_unscaled,
        "only the mean was multiplied. The old bias goes through the norm as well: all of b − μ "
        "is taken times the factor.",
    ),
    (
        "nothing scaled",
        _nothing_scaled,
        "the factor is missing: (b − μ) · factor + β.",
    ),
    ("no β", _no_beta, "β is missing: the norm adds it at its end."),
    (
        "β scaled",
        _beta_scaled,
        "β comes after the factor, and is not multiplied by it: (b − μ) · factor + β.",
    ),
    (
        "γ twice in the bias",
        _gamma_twice_in_bias,
        "the bias has γ twice: (b − μ) · factor + β, with the factor of the weight.",
    ),
    ("no γ in the bias", _no_gamma_in_bias, "the bias lacks γ: (b − μ) · factor + β."),
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
