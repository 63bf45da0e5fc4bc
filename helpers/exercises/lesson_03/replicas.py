"""Networks and what becomes of them in training: the judge's side of 03.2, 03.3 and 03.5."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from helpers.exercises.drives_training import network

Arrays = list[np.ndarray]


def random_weights(random: np.random.Generator, sizes: tuple[int, ...]) -> Arrays:
    """[W₁, b₁, W₂, b₂, …] of a network with these layer sizes, float64."""
    made: Arrays = []
    for before, after in pairwise(sizes):
        made.append(random.standard_normal((after, before)) / before**0.5)
        made.append(random.standard_normal(after))
    return made


def gradients(weights: Arrays, inputs: np.ndarray, targets: np.ndarray) -> Arrays:
    """The gradient of the mean squared error over these rows, as torch computes it."""
    model = network([torch.from_numpy(w) for w in weights])
    loss = nn.functional.mse_loss(model(torch.from_numpy(inputs)), torch.from_numpy(targets))
    found = torch.autograd.grad(loss, list(model.parameters()))
    return [g.numpy() for g in found]


def descend(
    weights: Arrays, batches: Sequence[tuple[np.ndarray, np.ndarray]], rate: float
) -> Arrays:
    """The weights after gradient descent, a step for each batch (inputs, targets)."""
    for batch in batches:
        steps = zip(weights, gradients(weights, *batch), strict=True)
        weights = [w - rate * g for w, g in steps]
    return weights
