"""Several trainings on the digits at once, each from its own seed, to see how results scatter."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional

from helpers.lessons.data_parallel.experiments.digits import Digits, digits

DEEP = (64, 64, 64, 64, 64, 64, 10)
"""Widths of a network that is deep for the digits, so that its first steps are delicate."""
MOMENTUM = 0.9


def errors_after_training(
    batch: int, rate: Callable[[int], float], epochs: int, seeds: int = 8
) -> list[float]:
    """Train `seeds` networks at once and return the test error of each, in %.

    batch: rows of a step. rate: the learning rate of each step, 0 first. Weights start as He et
    al. (2015) propose, every run from its own, and every run draws its own batches. The runs are
    stacked into one tensor, so that eight cost little more than one; they do not mix.
    """
    data = digits()
    random = torch.Generator().manual_seed(7)
    weights = _he(seeds, random)
    speeds = [torch.zeros_like(w) for w in weights]
    step = 0
    for _ in range(epochs):
        orders = torch.stack(
            [torch.randperm(len(data.train_x), generator=random) for _ in range(seeds)]
        )
        for rows in orders.split(batch, dim=1):
            if rows.shape[1] < batch:
                continue  # what fills no batch is left out, as in `digits.batches`
            slopes = torch.autograd.grad(_loss(weights, data, rows), weights)
            size = rate(step)
            with torch.no_grad():
                for weight, speed, slope in zip(weights, speeds, slopes, strict=True):
                    speed.mul_(MOMENTUM).add_(slope)
                    weight.sub_(speed, alpha=size)
            step += 1
    with torch.no_grad():
        guesses = _outputs(weights, data.test_x.expand(seeds, -1, -1)).argmax(-1)
    return [100 * e for e in (guesses != data.test_y).double().mean(1).tolist()]


def steps_per_epoch(batch: int) -> int:
    """Full batches in an epoch of the digits' training rows."""
    return len(digits().train_x) // batch


def _he(seeds: int, random: torch.Generator) -> list[Tensor]:
    made: list[Tensor] = []
    for before, after in pairwise(DEEP):
        scale = math.sqrt(2 / before)
        made.append(torch.randn(seeds, before, after, generator=random).mul_(scale))
        made.append(torch.zeros(seeds, 1, after))
    return [w.requires_grad_() for w in made]


def _outputs(weights: list[Tensor], inputs: Tensor) -> Tensor:
    for number, (weight, bias) in enumerate(zip(weights[::2], weights[1::2], strict=True)):
        inputs = torch.baddbmm(bias, functional.relu(inputs) if number else inputs, weight)
    return inputs


def _loss(weights: list[Tensor], data: Digits, rows: Tensor) -> Tensor:
    """The sum of the runs' mean losses, so that each run gets its own gradient."""
    out = _outputs(weights, data.train_x[rows])
    classes = data.train_y[rows]
    total = functional.cross_entropy(out.flatten(0, 1), classes.flatten(), reduction="sum")
    return total / rows.shape[1]
