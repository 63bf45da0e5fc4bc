"""The reference of exercise 11.5, and folded batch norms with one thing wrong."""

from __future__ import annotations

from typing import Any

EPS = 1e-5


def reference(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """The course's own, which takes the norm as a module."""
    from torch import nn

    from helpers.algorithms.quantization.folding import fold_batch_norm

    norm: Any = nn.BatchNorm1d(len(mean), eps=eps)
    norm.running_mean, norm.running_var = mean, var
    norm.weight, norm.bias = nn.Parameter(gamma), nn.Parameter(beta)
    return fold_batch_norm(weight, bias, norm)


def _times(weight: Any, factor: Any) -> Any:
    """The weight, each channel times its factor."""
    return weight * factor.view(-1, *[1] * (weight.dim() - 1))


def _with_factor(weight: Any, bias: Any, mean: Any, beta: Any, factor: Any) -> Any:
    """As it should be, with some factor."""
    shift = -mean if bias is None else bias - mean
    return _times(weight, factor), shift * factor + beta


def for_convolutions_alone(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """A factor of four dimensions, whatever the weight has."""
    factor = gamma / (var + eps).sqrt()
    shift = -mean if bias is None else bias - mean
    return weight * factor.view(-1, 1, 1, 1), shift * factor + beta


def no_eps(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Forgets eps."""
    return _with_factor(weight, bias, mean, beta, gamma / var.sqrt())


def own_eps(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Takes the usual eps, whatever it was given."""
    return _with_factor(weight, bias, mean, beta, gamma / (var + 1e-5).sqrt())


def by_variance(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Forgets the root."""
    return _with_factor(weight, bias, mean, beta, gamma / (var + eps))


def eps_outside(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Adds eps to the root, as some optimizers do."""
    return _with_factor(weight, bias, mean, beta, gamma / (var.sqrt() + eps))


def times_sigma(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Divides by rsqrt."""
    return _with_factor(weight, bias, mean, beta, gamma / (var + eps).rsqrt())


def gamma_twice(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Multiplies by gamma again."""
    factor = gamma / (var + eps).sqrt()
    return _with_factor(weight, bias, mean, beta, factor * gamma)


def no_gamma(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Normalises, and forgets gamma."""
    return _with_factor(weight, bias, mean, beta, (var + eps).rsqrt())


def along_the_inputs(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Lets the factor fall on the last dimension."""
    factor = gamma / (var + eps).sqrt()
    return weight * factor, _with_factor(weight, bias, mean, beta, factor)[1]


def for_linear_alone(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """A column is right for a linear layer's weight."""
    factor = gamma / (var + eps).sqrt()
    return weight * factor[:, None], _with_factor(weight, bias, mean, beta, factor)[1]


def no_none(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Every layer has a bias."""
    factor = gamma / (var + eps).sqrt()
    return _times(weight, factor), (bias - mean) * factor + beta


def no_old_bias(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """A new bias, made of the norm alone."""
    return _with_factor(weight, None, mean, beta, gamma / (var + eps).sqrt())


def no_mean(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Forgets the mean."""
    return _with_factor(weight, bias, 0 * mean, beta, gamma / (var + eps).sqrt())


def mean_unscaled(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Subtracts the mean at the end."""
    weight, bias = _with_factor(weight, bias, 0 * mean, beta, gamma / (var + eps).sqrt())
    return weight, bias - mean


def bias_unscaled(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Adds the old bias at the end."""
    weight, shift = _with_factor(weight, None, mean, beta, gamma / (var + eps).sqrt())
    return weight, shift if bias is None else shift + bias


def no_beta(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Forgets beta."""
    return _with_factor(weight, bias, mean, 0, gamma / (var + eps).sqrt())


def beta_scaled(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Sets the brackets round beta too."""
    return _with_factor(weight, bias, mean - beta, 0, gamma / (var + eps).sqrt())


def gamma_twice_in_bias(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """The factor of the bias once more times gamma."""
    factor = gamma / (var + eps).sqrt()
    _, shift = _with_factor(weight, bias, mean, beta, factor * gamma)
    return _times(weight, factor), shift


def bias_left(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Folds into the weight alone."""
    return _times(weight, gamma / (var + eps).sqrt()), bias


def in_place(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Multiplies the layer's own weight."""
    factor = gamma / (var + eps).sqrt()
    _, shift = _with_factor(weight, bias, mean, beta, factor)
    weight *= factor.view(-1, *[1] * (weight.dim() - 1))
    return weight, shift


def bias_first(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """The pair the other way round."""
    factor = gamma / (var + eps).sqrt()
    return _with_factor(weight, bias, mean, beta, factor)[::-1]


def weight_alone(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = EPS
) -> Any:
    """Returns no bias at all."""
    return _times(weight, gamma / (var + eps).sqrt())
