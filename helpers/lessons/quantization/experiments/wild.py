"""What upsets ranges: one picture, or one channel, whose numbers are far larger than all others."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.folding import NORMS
from helpers.lessons.quantization.algorithms.quantized_training import (
    AVERAGES,
    IDLE,
    PRODUCTS,
    SHAPES,
    flat,
)

# What commutes with a factor above 0, channel by channel.
THROUGH = (nn.ReLU, nn.MaxPool2d, *AVERAGES, *SHAPES, *IDLE)


def wild_picture(batches: Sequence[Tensor], factor: float = 255.0) -> list[Tensor]:
    """Copies of batches in which the numbers of one picture, the first of all, are so much larger.

    Example: pixels from 0 to 255 that nobody divided by 255 before calibration saw them.
    """
    copies = [batch.clone() for batch in batches]
    copies[0][0] *= factor
    return copies


def wild_channel(model: nn.Module, factor: float) -> nn.Sequential:
    """A model of equal outputs, in eval mode, with one wild channel in each layer but the last.

    The channel of the largest weights becomes `factor` times larger, and what the next layer makes
    of it as many times smaller: ReLU and pooling hand a positive factor on. model: an
    nn.Sequential, of others too; layers whose next layer is behind anything else, or does not take
    their channels one by one, stay as they are.
    Raises ValueError for a factor that is not above 0, TypeError where no layer can be changed.
    """
    if not factor > 0:
        raise ValueError(f"A wild channel is larger by a factor above 0, not {factor}.")
    layers = list(flat(copy.deepcopy(model).eval()))
    places = [place for place, layer in enumerate(layers) if isinstance(layer, PRODUCTS)]
    changed = 0
    for place, following in pairwise(places):
        between = layers[place + 1 : following]
        norm = between.pop(0) if between and isinstance(between[0], NORMS) else None
        known = all(isinstance(layer, THROUGH) for layer in between)
        if known and _meet(layers[place], norm, between, layers[following]):
            _exchange(layers[place], norm, layers[following], factor)
            changed += 1
    if not changed:
        raise TypeError(
            "A wild channel needs an nn.Sequential with two layers with weights, and nothing but a "
            "batch norm, ReLU, pooling and changes of shape between them."
        )
    return nn.Sequential(*layers)


def _meet(layer: Any, norm: Any, between: Sequence[nn.Module], following: Any) -> bool:
    """Whether the next layer's inputs are this one's channels, and the norm has factors."""
    if norm is not None and norm.weight is None:
        return False
    if isinstance(following, nn.Conv2d):
        return isinstance(layer, nn.Conv2d) and following.in_channels == layer.out_channels
    if isinstance(layer, nn.Linear):
        return following.in_features == layer.out_features
    return any(isinstance(part, nn.Flatten) for part in between)


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
