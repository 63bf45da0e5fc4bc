"""Deep recurrent networks, as a list of layers that a wave can cut, and the whole as a module."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

KINDS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def recurrent_layers(
    layers: int = 4,
    width: int = 32,
    hidden: int = 32,
    kind: str = "rnn",
    tied: bool = False,
    dtype: torch.dtype = torch.float32,
    seed: int | None = 0,
) -> list[nn.Module]:
    """Recurrent layers, each called as layer(x, state) -> (out, state), x (steps, rows, width).

    kind: "rnn" (tanh), "gru" or "lstm". tied: one and the same layer every time, so that width
    and hidden must be equal. seed: of the weights; None takes torch's generator as it is.
    """
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        if tied:
            return [KINDS[kind](width, hidden, dtype=dtype)] * layers
        return [
            KINDS[kind](width if layer == 0 else hidden, hidden, dtype=dtype)
            for layer in range(layers)
        ]


class DeepRecurrent(nn.Module):
    """The whole network on one device: every layer over all steps, then the head on all outputs."""

    def __init__(self, layers: Sequence[nn.Module], head: nn.Module | None = None) -> None:
        super().__init__()
        self.layers, self.head = nn.ModuleList(layers), head or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """x: (steps, rows, width). Returns what the head makes of (steps, rows, hidden)."""
        for layer in self.layers:
            x, _ = layer(x, None)
        return torch.as_tensor(self.head(x))
