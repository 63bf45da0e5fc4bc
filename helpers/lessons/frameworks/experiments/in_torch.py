"""The network and the training loop in torch, as three of the ways share them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from helpers.lessons.frameworks.experiments.setting import Part, Task


def network(arrays: Sequence[np.ndarray]) -> nn.Sequential:
    """Linear layers with tanh between them, with these weights: a matrix, a bias, a matrix, ….

    Example: `network(setting.weights())` has 64 inputs, 32 hidden units and 10 outputs.
    """
    layers: list[nn.Module] = []
    for matrix in arrays[::2]:
        layers += [nn.Linear(matrix.shape[1], matrix.shape[0]), nn.Tanh()]
    model = nn.Sequential(*layers[:-1])
    with torch.no_grad():
        for parameter, array in zip(model.parameters(), arrays, strict=True):
            parameter.copy_(torch.from_numpy(array))
    return model


def arrays(model: nn.Module) -> list[np.ndarray]:
    """A module's parameters as arrays of their own."""
    return [parameter.detach().cpu().numpy().copy() for parameter in model.parameters()]


def train(
    model: Any, optimizer: Any, mine: Task, after_backward: Callable[[], None] | None = None
) -> Part:
    """The plain training loop over a rank's rows; the part that comes back has no weights yet."""
    losses, start = [], time.perf_counter()
    for inputs, targets in zip(torch.from_numpy(mine.x), torch.from_numpy(mine.y), strict=True):
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), targets)
        loss.backward()
        if after_backward is not None:
            after_backward()
        optimizer.step()
        losses.append(loss.item())
    return Part(losses, [], time.perf_counter() - start, {})
