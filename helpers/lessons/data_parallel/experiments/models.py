"""Small models: one that learns the digits in seconds, and a wide one that is slow to send."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS


def mlp(
    widths: Sequence[int] = (PIXELS, 128, 64, CLASSES),
    dtype: torch.dtype = torch.float32,
    seed: int | None = 0,
) -> nn.Sequential:
    """Linear layers with ReLU between them; (rows, widths[0]) to (rows, widths[-1]).

    seed: of the initial weights, without touching torch's own generator. None takes that
    generator as it is, so that ranks that are seeded differently start differently.
    """
    if len(widths) < 2:
        raise ValueError("A network needs at least a width going in and one coming out.")
    layers: list[nn.Module] = []
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        for inputs, outputs in pairwise(widths):
            layers += [nn.Linear(inputs, outputs, dtype=dtype), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def wide_mlp(width: int = 1024, hidden: int = 8, seed: int | None = 0) -> nn.Sequential:
    """A network with `hidden` square layers: few operations for many bytes of gradients.

    The default has 8.5 million parameters, 34 MB of gradients in float32.
    """
    return mlp((PIXELS, *[width] * (hidden + 1), CLASSES), seed=seed)


def gradient_bytes(model: nn.Module) -> int:
    """Bytes of all gradients of a model: what an all-reduce has to sum in a step."""
    return sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
