"""A training whose gradients are too small for fp16: how much ink is in each pixel, in grams.

A digit's 64 pixels go in, from 0 to 1, and their ink comes out, a thousandth of it: the unit is
large, so the numbers are small, and so are the gradients of a mean over all pixels of all rows.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch
from torch import nn

from helpers.lessons.data_parallel.experiments.digits import digits
from helpers.lessons.fewer_bits.algorithms.loss_scale import DynamicLossScale, MixedPrecision

GRAM = 1e-3
STEPS = 90


class Halved(NamedTuple):
    """By step: the loss, as a share of the ink's variance; the scale; gradients that were 0."""

    losses: list[float]
    scales: list[float]
    zeros: list[float]


def train(dtype: torch.dtype, scale: DynamicLossScale | None = None, steps: int = STEPS) -> Halved:
    """Train on all rows at once by Adam, computing in `dtype`, with weights kept in float32.

    zeros: the share of the last layer's gradients. Its weights start at 0, so that it says nothing
    at first.
    """
    torch.manual_seed(0)
    last = nn.Linear(32, 64)
    net = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), last)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    adam = partial(torch.optim.Adam, lr=0.02 * GRAM, eps=1e-15)
    training = MixedPrecision(net, adam, dtype, scale)
    pixels = digits().train_x
    ink = pixels * GRAM
    variance = float((ink - ink.mean(0)).square().mean())
    found = Halved([], [], [])
    for _ in range(steps):
        loss = (net(pixels.to(dtype)).float() - ink).square().mean()
        training.backward(loss)
        assert last.weight.grad is not None
        found.zeros.append(1 - float(last.weight.grad.count_nonzero()) / last.weight.numel())
        training.step()
        found.losses.append(float(loss.detach()) / variance)
        found.scales.append(1.0 if scale is None else scale.scale)
    return found
