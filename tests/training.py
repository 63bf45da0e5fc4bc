"""Small models and batches that several tests train on."""

from __future__ import annotations

import torch
from torch import nn

ROWS, STEPS = 23, 4  # 23 rows divide by none of the sizes, so shards are uneven
FEW = 600  # bytes of a bucket, so that the small models below have several


class Plain(nn.Sequential):
    """An ordinary network."""

    def __init__(self) -> None:
        super().__init__(
            nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3)
        )
        self.double()


class Tied(nn.Module):
    """One weight used twice; a frozen layer; a part that no forward uses."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(6, 6, dtype=torch.float64)
        self.again = nn.Linear(6, 6, dtype=torch.float64)
        self.again.weight = self.inner.weight
        self.frozen = nn.Linear(6, 6, dtype=torch.float64).requires_grad_(False)
        self.unused = nn.Linear(6, 6, dtype=torch.float64)
        self.last = nn.Linear(6, 3, dtype=torch.float64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.frozen(torch.tanh(self.again(torch.tanh(self.inner(x))))))


def batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The global batch of a step, the same wherever it is made."""
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(ROWS, 6, generator=generator, dtype=torch.float64)
    return x, torch.randint(3, (ROWS,), generator=generator)


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1, momentum=0.9)
