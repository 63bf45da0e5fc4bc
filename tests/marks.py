"""Tasks for trainings on real processes; one whose weights tell which gradients are in them."""

from __future__ import annotations

import time

import torch
from torch import Tensor


class Line:
    """Four weights that shrink; slow enough for every worker to be scheduled."""

    def initial(self) -> Tensor:
        return torch.ones(4)

    def rows(self, worker: int, step: int, batch: int) -> Tensor:
        return torch.tensor([worker, step])

    def gradient(self, weights: Tensor, rows: Tensor) -> Tensor:
        self.at(*rows.tolist())
        time.sleep(0.001)
        return weights * 0.1

    def at(self, worker: int, step: int) -> None:
        """What happens at a worker's step."""

    def gradients(self, weights: Tensor, rows: Tensor) -> Tensor:
        return torch.stack([self.gradient(w, r) for w, r in zip(weights, rows, strict=True)])

    def error(self, weights: Tensor) -> float:
        return float(weights.sum())


class Marks(Line):
    """The gradient of a worker's step is −1 in one place that is its own, in each server's part.

    So with plain SGD and a rate of 1, weights count how often each gradient is in them.
    """

    def __init__(self, workers: int, steps: int, servers: int) -> None:
        self.shape = servers, workers, steps

    def initial(self) -> Tensor:
        return torch.zeros(self.shape, dtype=torch.float64).flatten()

    def gradient(self, weights: Tensor, rows: Tensor) -> Tensor:
        worker, step = rows.tolist()
        self.at(worker, step)
        gradient = torch.zeros_like(weights)
        self.table(gradient)[:, worker, step] = -1
        return gradient

    def table(self, weights: Tensor) -> Tensor:
        """What is in the weights, (servers, workers, steps)."""
        return weights.reshape(self.shape)
