"""Memory of a device: what a training step takes, and an order of work that takes the least."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

FLOAT32 = 4  # bytes of a number


def step_memory(widths: Sequence[int], batch: int, slots: int) -> tuple[int, int, int, int]:
    """Bytes of a training step in float32: parameters, gradients, optimizer state, activations.

    widths: of the layers, the input's first. Each linear layer has weights and a bias, and keeps
    its input for the backward pass; tanh between them keeps its output, which is the next layer's
    input. batch: rows. slots: numbers that the optimizer keeps for each parameter.
    """
    numbers = sum((inside + 1) * out for inside, out in pairwise(widths))
    parameters = FLOAT32 * numbers
    activations = FLOAT32 * batch * sum(widths[:-1])
    return parameters, parameters, slots * parameters, activations


def least_peak(branches: Sequence[tuple[int, int]]) -> list[int]:
    """The order in which branches, one after the other, need the least memory at any time.

    branches: (work, result), in MiB: what each needs while it runs, its result included, and what
    it keeps until all have run. What matters is what a branch gives back, work − result: who gives
    back most goes first (Liu, 1987).
    """
    return sorted(range(len(branches)), key=lambda i: branches[i][1] - branches[i][0])
