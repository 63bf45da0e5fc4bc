"""A task without a model: a training of it costs nothing but the clock's own work."""

from __future__ import annotations

import torch


class NoGradients:
    """One weight that stays 0. For runs of which only the times are wanted."""

    def initial(self) -> torch.Tensor:
        """The weights, (1,)."""
        return torch.zeros(1)

    def rows(self, worker: int, step: int, batch: int) -> torch.Tensor:
        """Row 0, over and over: (batch,)."""
        return torch.zeros(batch, dtype=torch.long)

    def gradient(self, weights: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """0, (1,)."""
        return torch.zeros_like(weights)

    def gradients(self, weights: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """0 for each, (n, 1)."""
        return torch.zeros_like(weights)

    def error(self, weights: torch.Tensor) -> float:
        """0 %: there is nothing to get wrong."""
        return 0.0
