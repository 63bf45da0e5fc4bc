"""Memory and messages of data parallelism by formula: plain, and in ZeRO's three stages.

Write Ψ for the number of parameters and N for the number of ranks. With Adam in mixed precision a
parameter costs 16 bytes: 2 for itself, 2 for its gradient, and 12 for the optimizer's copy of it,
momentum and variance, 4 each. Activations are not counted here.
Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"
(2020), sections 3.1, 5 and 7, and table 1.
"""

from __future__ import annotations

from typing import NamedTuple

STAGES = ("everything on every rank", "optimizer state", "+ gradients", "+ parameters")
"""What each stage shards, 0 to 3."""


class PerParameter(NamedTuple):
    """Bytes of a parameter, of its gradient, and of what the optimizer keeps for it."""

    parameters: float
    gradients: float
    optimizer: float

    @property
    def total(self) -> float:
        """All of them."""
        return sum(self)


MIXED_ADAM = PerParameter(2, 2, 12)
"""bfloat16 or float16, with float32 parameters, momentum and variance in the optimizer."""
FLOAT32_ADAM = PerParameter(4, 4, 8)
"""float32: the optimizer updates the parameters themselves, and keeps momentum and variance."""


def memory(
    parameters: float, ranks: int, stage: int, each: PerParameter = MIXED_ADAM
) -> PerParameter:
    """Bytes that one rank holds for parameters, gradients and optimizer state.

    stage: 0, nothing is sharded; 1, optimizer state; 2, gradients too; 3, parameters too.
    Exact where the ranks divide the parameters: `Sharded` pads them until they do.
    Example: memory(7.5e9, 64, 1).total is 31.4e9: 4Ψ + 12Ψ/N.
    """
    _check(parameters, ranks, stage)
    own = parameters / ranks
    return PerParameter(
        each.parameters * (own if stage >= 3 else parameters),
        each.gradients * (own if stage >= 2 else parameters),
        each.optimizer * (own if stage >= 1 else parameters),
    )


def communication(parameters: float, ranks: int, stage: int, itemsize: float = 2) -> float:
    """Bytes that one rank sends in a step, with rings.

    A reduce-scatter and an all-gather send (N − 1)/N of the elements each. Stages 0 to 2 do one
    of each, 2Ψ; stage 3 gathers the parameters before forward and again before backward, 3Ψ.
    itemsize: bytes of an element that is sent.
    """
    _check(parameters, ranks, stage)
    return (3 if stage == 3 else 2) * parameters * itemsize * (ranks - 1) / ranks


def _check(parameters: float, ranks: int, stage: int) -> None:
    if parameters < 0 or ranks < 1:
        raise ValueError(f"{parameters} parameters on {ranks} ranks: give 0 or more on 1 or more.")
    if stage not in (0, 1, 2, 3):
        raise ValueError(f"There is no stage {stage!r}: give 0, 1, 2 or 3.")
