"""The run that all others are held to: one process, all rows, in torch."""

from __future__ import annotations

import torch

from helpers.lessons.frameworks.experiments import in_torch
from helpers.lessons.frameworks.experiments.setting import RATE, Part, task, weights


def train_alone(steps: int = 50) -> Part:
    """Train the setting's network for so many steps, without ranks."""
    model = in_torch.network(weights())
    part = in_torch.train(model, torch.optim.SGD(model.parameters(), lr=RATE), task(steps))
    return part._replace(weights=in_torch.arrays(model))
