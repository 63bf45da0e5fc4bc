"""What upsets ranges: one picture, or one channel, whose numbers are far larger than all others."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.folding import NORMS
from helpers.lessons.quantization.algorithms.quantized_training import PRODUCTS, flat

# What commutes with a factor above 0, channel by channel.
THROUGH = (nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, nn.Flatten)


def wild_picture(batches: Sequence[Tensor]) -> list[Tensor]:
    """Copies of batches in which the numbers of the first picture of all are 255 times as large.

    As if nobody had divided its pixels, from 0 to 255, before calibration saw them.
    """
    copies = [batch.clone() for batch in batches]
    copies[0][0] *= 255
    return copies


def wild_channel(model: nn.Module, factor: float) -> nn.Sequential:
    """A model of equal outputs, in eval mode, with one wild channel in each layer but the last.

    The channel of the largest weights becomes `factor` times larger, and what the next layer makes
    of it as many times smaller: ReLU and pooling hand a positive factor on. model: an
    nn.Sequential, of others too. Raises TypeError where anything else stands between two layers
    with weights.
    """
    layers = list(flat(copy.deepcopy(model).eval()))
    places = [place for place, layer in enumerate(layers) if isinstance(layer, PRODUCTS)]
    for place, following in pairwise(places):
        between = layers[place + 1 : following]
        norm = between.pop(0) if between and isinstance(between[0], NORMS) else None
        if not all(isinstance(layer, THROUGH) for layer in between):
            raise TypeError(
                "A wild channel needs nothing but a batch norm, ReLU, pooling and Flatten between "
                "two layers with weights."
            )
        _exchange(layers[place], norm, layers[following], factor)
    return nn.Sequential(*layers)


@torch.no_grad()
def _exchange(layer: Any, norm: Any, following: Any, factor: float) -> None:
    """Make a layer's output channel larger, and its share in the next layer smaller."""
    magnitudes = layer.weight.flatten(1).abs().amax(1)
    if norm is not None:
        magnitudes = magnitudes * (norm.weight * torch.rsqrt(norm.running_var + norm.eps)).abs()
    channel = int(magnitudes.argmax())
    last = layer if norm is None else norm  # scales the channel last of all
    last.weight[channel] *= factor
    if last.bias is not None:
        last.bias[channel] *= factor
    weight = following.weight
    if isinstance(following, nn.Linear):
        pixels = weight.shape[1] // len(magnitudes)  # of each channel, where a Flatten was between
        weight[:, channel * pixels : (channel + 1) * pixels] /= factor
        return
    of_group, outputs = weight.shape[1], len(weight) // following.groups
    group, place = divmod(channel, of_group)
    weight[group * outputs : (group + 1) * outputs, place] /= factor
