"""A task without a model: a training of it costs nothing but the clock's own work."""

from __future__ import annotations

import torch


class NoGradients:
    """Weights that stay 0. For runs of which only the times are wanted.

    weights: how many, as many as there are servers at least, so that each has a part.
    """

    def __init__(self, weights: int = 1) -> None:
        self.weights = weights

    def initial(self) -> torch.Tensor:
        """The weights, (weights,)."""
        return torch.zeros(self.weights)

    def rows(self, worker: int, step: int, batch: int) -> torch.Tensor:
        """Row 0, over and over: (batch,)."""
        return torch.zeros(batch, dtype=torch.long)

    def gradient(self, weights: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """0, (weights,)."""
        return torch.zeros_like(weights)

    def gradients(self, weights: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """0 for each, (n, weights)."""
        return torch.zeros_like(weights)

    def error(self, weights: torch.Tensor) -> float:
        """0 %: there is nothing to get wrong."""
        return 0.0
