"""The numbers of exercise 11.5, and how an answer differs from them, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.exercises.compare import close, describe, is_array
from helpers.exercises.drives_split import returned
from helpers.exercises.lesson_11.figures import said
from helpers.exercises.spec import Case, Observation

Array = np.ndarray


@dataclass(frozen=True)
class Numbers:
    """A case's arguments in doubles; bias: 0 where there is none."""

    weight: Array
    bias: Array
    mean: Array
    var: Array
    gamma: Array
    beta: Array
    eps: float = 1e-5

    @property
    def sigma(self) -> Array:
        """The root of variance and eps, (out,)."""
        return np.sqrt(self.var + self.eps)

    @property
    def factor(self) -> Array:
        """What each channel is multiplied by, (out,)."""
        return self.gamma / self.sigma

    def beside(self, factor: Array) -> Array:
        """One number for each channel, so that they meet the weight's."""
        return factor.reshape(-1, *[1] * (self.weight.ndim - 1))


def numbers(case: Case) -> Numbers:
    """A case's arguments."""
    weight, bias, mean, var, gamma, beta, *given = case.args[0]
    bias = np.zeros(len(weight)) if bias is None else bias
    held: list[Any] = [v.astype(np.float64) for v in (weight, bias, mean, var, gamma, beta)]
    return Numbers(*held, *given)


def pair(seen: Observation) -> tuple[Any, Any] | None:
    """The weight and the bias that came out; None where there is no pair."""
    out = returned(seen.values[0])
    if isinstance(out, tuple | list) and len(out) == 2:
        return out[0], out[1]
    return None


def same(got: Any, want: Array) -> bool:
    """Whether a bias is as wanted, or a weight: each channel beside its own largest number."""
    if want.ndim == 1:
        return close(got, want)
    return is_array(got, want.shape) and all(map(close, got, want))


def right_bias(n: Numbers) -> Array:
    """As it should be."""
    return (n.bias - n.mean) * n.factor + n.beta


def weight_at_worst(got: Any, n: Numbers) -> str:
    """How the weight differs, in words."""
    if not is_array(got, n.weight.shape):
        return f"it should have the shape {n.weight.shape}, and you returned {describe(got)}"
    ratio = _ratio(got.astype(np.float64), n.weight)
    with np.errstate(all="ignore"):
        channel = int(np.argmax(np.nan_to_num(np.abs(ratio - n.factor) / np.abs(n.factor))))
    got_one, right = said(float(ratio[channel])), said(float(n.factor[channel]))
    return f"channel {channel} is {got_one} times the old one, not {right} times"


def _ratio(got: Array, weight: Array) -> Array:
    """The factor of each channel that comes nearest."""
    got, weight = got.reshape(len(got), -1), weight.reshape(len(weight), -1)
    with np.errstate(all="ignore"):
        return np.asarray((got * weight).sum(1) / np.square(weight).sum(1))


def bias_at_worst(got: Any, n: Numbers) -> str:
    """How the bias differs, in words."""
    want = right_bias(n)
    if not is_array(got, want.shape):
        return f"the bias should have the shape {want.shape}, and you returned {describe(got)}"
    with np.errstate(all="ignore"):
        channel = int(np.argmax(np.nan_to_num(np.abs(got - want), nan=np.inf)))
    got_one, right = said(float(got[channel])), said(float(want[channel]))
    return f"the bias of channel {channel} is {got_one} and should be {right}"
