"""Batch norm folded into the layer before it: the same outputs from one layer less.

With its running statistics a batch norm is a scale and a shift for each channel, and a layer's
weight and bias can take both up: w' = w · γ/σ, b' = (b − μ) · γ/σ + β. Source: Jacob et al. (2018),
section 3.2, equation 14.
"""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import fusion

# What can be folded into which layer: the norm's channels must be the layer's.
PAIRS: dict[type[nn.Module], type[nn.Module]] = {
    nn.Linear: nn.BatchNorm1d,
    nn.Conv1d: nn.BatchNorm1d,
    nn.Conv2d: nn.BatchNorm2d,
    nn.Conv3d: nn.BatchNorm3d,
}
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def fold_batch_norm(weight: Tensor, bias: Tensor | None, norm: nn.Module) -> tuple[Tensor, Tensor]:
    """The weight and the bias of a layer that does what the layer and then the norm did.

    weight: (channels out, …), of a linear layer or a convolution. bias: (channels out,) or None.
    norm: a batch norm of as many channels; its running statistics count, not a batch's. Raises
    TypeError for another module, ValueError where channels differ or no statistics were kept.
    """
    if not isinstance(norm, NORMS):
        raise TypeError(f"Only a batch norm can be folded, not {type(norm).__name__}.")
    if norm.running_mean is None or norm.running_var is None:
        raise ValueError(
            "This batch norm keeps no running statistics, so it depends on each batch and cannot "
            "be folded: make it with track_running_stats=True, and train again."
        )
    if len(weight) != norm.num_features:
        raise ValueError(
            f"The layer has {len(weight)} channels going out, the batch norm {norm.num_features}."
        )
    factor = torch.rsqrt(norm.running_var + norm.eps)
    if norm.weight is not None:
        factor = factor * norm.weight.detach()
    shift = -norm.running_mean if bias is None else bias.detach() - norm.running_mean
    shift = shift * factor
    if norm.bias is not None:
        shift = shift + norm.bias.detach()
    return weight.detach() * factor.view(-1, *[1] * (weight.dim() - 1)), shift


def fold(model: nn.Module) -> nn.Module:
    """A copy of a model, in eval mode, whose batch norms are folded into the layers before them.

    Each is folded as `fold_batch_norm` does it, by torch's own function, which asks no questions.
    Folded is what stands in an nn.Sequential, at any depth, right behind a linear layer or a
    convolution; an nn.Identity takes the batch norm's place, so that names and numbers of layers
    stay. Other batch norms are left as they are. A layer that is used in several places, or that
    shares its weight, is left too. Behind a linear layer a batch norm is taken to be over its
    outputs: one over the positions of (rows, positions, outputs), of which there happen to be as
    many, looks the same.
    """
    model = copy.deepcopy(model).eval()
    shared = _shared_modules(model)
    for sequence in [m for m in model.modules() if isinstance(m, nn.Sequential)]:
        for place in range(1, len(sequence)):
            layer: Any = sequence[place - 1]
            norm: Any = sequence[place]
            norm_type = PAIRS.get(type(layer))
            if norm_type is None or type(norm) is not norm_type:
                continue
            fits = norm.running_mean is not None and norm.num_features == len(layer.weight)
            if fits and not {id(layer), id(norm)} & shared:
                numbers: Any = norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
                both = fusion.fuse_conv_bn_weights(layer.weight, layer.bias, *numbers)
                layer.weight, layer.bias = (nn.Parameter(one.detach()) for one in both)
                sequence[place] = nn.Identity()
    return model


def _shared_modules(model: nn.Module) -> set[int]:
    """The ids of modules that stand in more than one place, or share a parameter with another."""
    places = [module for _, module in model.named_modules(remove_duplicate=False)]
    times = Counter(map(id, places))
    owners = Counter(id(p) for module in set(places) for p in module._parameters.values())
    owners.pop(id(None), None)
    return {
        id(module)
        for module in places
        if times[id(module)] > 1 or any(owners[id(p)] > 1 for p in module._parameters.values())
    }
