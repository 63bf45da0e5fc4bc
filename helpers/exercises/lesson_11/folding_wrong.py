"""Wrong answers to exercise 11.5: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _by_channel(weight: Any, factor: Any) -> Any:
    return weight * factor.view(-1, *[1] * (weight.dim() - 1))


def _factor(gamma: Any, var: Any, eps: float) -> Any:
    return gamma / (var + eps).sqrt()


def _shift(bias: Any, mean: Any, factor: Any, beta: Any, gamma: Any) -> Any:
    return (bias - mean) * factor + beta


def _with(
    factor: Callable[[Any, Any, float], Any] = _factor,
    times: Callable[[Any, Any], Any] = _by_channel,
    shift: Callable[[Any, Any, Any, Any, Any], Any] = _shift,
    given: Callable[[Any, Any, Any], Any] = lambda weight, shift, bias: (weight, shift),
) -> Callable[..., Any]:
    """The factor of each channel, the weight times that, the bias, and what is given of these."""

    def fold(
        weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = 1e-5
    ) -> Any:
        by, old = factor(gamma, var, eps), torch.zeros_like(mean) if bias is None else bias
        return given(times(weight, by), shift(old, mean, by, beta, gamma), bias)

    return fold


# --- the factor -----------------------------------------------------------------------------------

no_eps = _with(lambda gamma, var, eps: gamma / var.sqrt())
NO_EPS = "{weight}: eps is left out: the root is that of var + eps, as in training."
own_eps = _with(lambda gamma, var, eps: gamma / (var + 1e-5).sqrt())
OWN_EPS = "{weight}: an eps of its own is in it. The norm was trained with the one that is given."
own_eps_of_keras = _with(lambda gamma, var, eps: gamma / (var + 1e-3).sqrt())
by_variance = _with(lambda gamma, var, eps: gamma / (var + eps))
BY_VARIANCE = "{weight}: you divided by the variance itself, and not by its root, √(var + eps)."
by_variance_alone = _with(lambda gamma, var, eps: gamma / var)
eps_outside = _with(lambda gamma, var, eps: gamma / (var.sqrt() + eps))
EPS_OUTSIDE = "{weight}: eps was added behind the root. It belongs inside: √(var + eps)."
times_sigma = _with(lambda gamma, var, eps: gamma / (var + eps).rsqrt())
TIMES_SIGMA = (
    "{weight}: the weight was multiplied by √(var + eps), or divided by its inverse: the factor "
    "is γ/√(var + eps). Note that `torch.rsqrt` is 1/√ already."
)
gamma_twice = _with(lambda gamma, var, eps: gamma**2 / (var + eps).sqrt())
GAMMA_TWICE = "{weight}: γ is in it twice: the factor is γ/√(var + eps)."
no_gamma = _with(lambda gamma, var, eps: (var + eps).rsqrt())
NO_GAMMA = "{weight}: γ is left out: the factor is γ/√(var + eps)."

# --- the weight -----------------------------------------------------------------------------------

weight_left = _with(times=lambda weight, factor: weight)
WEIGHT_LEFT = "{weight}: it is the old one: each channel is to be taken times γ/√(var + eps)."
for_images = _with(times=lambda weight, factor: weight * factor.view(-1, 1, 1, 1))
FOR_IMAGES = (
    "the weight has come to have four dimensions, {new_weight}: a linear layer's has two. The "
    "factor needs as many ones as the weight has dimensions behind the first: `factor.view(-1, "
    "*[1] * (weight.dim() - 1))`."
)


def _along(dimension: int) -> Callable[..., Any]:
    """The factor lies along another dimension of the weight, where there is one."""

    def times(weight: Any, factor: Any) -> Any:
        if weight.dim() <= dimension:
            return _by_channel(weight, factor)
        return weight * factor.view(-1, *[1] * (weight.dim() - 1 - dimension))

    return _with(times=times)


_ALONG = (
    "the factor lies along dimension {} of the weight, which happens to fit; out is 0: {{view}}."
)
along_1 = _along(1)
ALONG_1 = _ALONG.format(1)
along_2 = _along(2)
ALONG_2 = _ALONG.format(2)
along_3 = _along(3)
ALONG_3 = _ALONG.format(3)


def _in_place(weight: Any, factor: Any) -> Any:
    weight *= factor.view(-1, *[1] * (weight.dim() - 1))
    return weight


in_place = _with(times=_in_place)
IN_PLACE = "you wrote into `{argument}`, which is the trained model's own: make a new tensor."

# --- the bias -------------------------------------------------------------------------------------

bias_left = _with(shift=lambda b, m, f, beta, g: b)
BIAS_LEFT = "{bias}: it was left as it was. The norm moves it: (b − μ) · factor + β."
beta_alone = _with(shift=lambda b, m, f, beta, g: beta)
BETA_ALONE = "{bias}: neither mean nor factor is in it: (b − μ) · factor + β."
beta_added = _with(shift=lambda b, m, f, beta, g: b + beta)
no_mean = _with(shift=lambda b, m, f, beta, g: b * f + beta)
NO_MEAN = "{bias}: the mean is not subtracted: the norm takes μ from what the layer gives."
mean_added = _with(shift=lambda b, m, f, beta, g: (b + m) * f + beta)
MEAN_ADDED = "{bias}: the mean was added; the norm takes it away: b − μ."
no_old_bias = _with(shift=lambda b, m, f, beta, g: beta - m * f)
NO_OLD_BIAS = "{bias}: the layer's bias is left out; the norm came after it: (b − μ) · factor + β."
mean_unscaled = _with(shift=lambda b, m, f, beta, g: b * f - m + beta)
MEAN_UNSCALED = "{bias}: the mean goes through the norm too: take all of b − μ times the factor."
mean_without_gamma = _with(shift=lambda b, m, f, beta, g: (b - m / g) * f + beta)
mean_by_gamma = _with(shift=lambda b, m, f, beta, g: b * f - m * g + beta)
bias_unscaled = _with(shift=lambda b, m, f, beta, g: b - m * f + beta)
BIAS_UNSCALED = "{bias}: only the mean was multiplied: all of b − μ is taken times the factor."
nothing_scaled = _with(shift=lambda b, m, f, beta, g: b - m + beta)
NOTHING_SCALED = "{bias}: the factor is missing: (b − μ) · factor + β."
no_beta = _with(shift=lambda b, m, f, beta, g: (b - m) * f)
NO_BETA = "{bias}: β is missing: the norm adds it at its end."
beta_scaled = _with(shift=lambda b, m, f, beta, g: (b - m + beta) * f)
BETA_SCALED = "{bias}: β comes after the factor, and is not multiplied by it: (b − μ) · factor + β."
gamma_twice_in_bias = _with(shift=lambda b, m, f, beta, g: (b - m) * f * g + beta)
TWICE_IN_BIAS = "{bias}: γ is in it twice: (b − μ) · factor + β, with the factor of the weight."
no_gamma_in_bias = _with(shift=lambda b, m, f, beta, g: (b - m) * f / g + beta)
NO_GAMMA_IN_BIAS = "{bias}: the bias lacks γ: (b − μ) · factor + β."

# --- what is given back ---------------------------------------------------------------------------

bias_first = _with(given=lambda weight, shift, bias: (shift, weight))
BIAS_FIRST = "the bias comes first in what you returned: the pair is (weight, bias)."
weight_alone = _with(given=lambda weight, shift, bias: weight)
WEIGHT_ALONE = "you returned {returned}. Return both: the pair (weight, bias)."
none_for_none = _with(given=lambda weight, shift, bias: (weight, None if bias is None else shift))
NONE_FOR_NONE = (
    "you returned None for the bias. The layer may have had none, but what the norm subtracts and "
    "adds has to go somewhere: −μ · γ/√(var + eps) + β."
)


def no_none(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = 1e-5
) -> Any:
    factor = _factor(gamma, var, eps)
    return _by_channel(weight, factor), (bias - mean) * factor + beta
