"""Processors with their published peaks, for runs on the virtual clock.

A peak is what a data sheet promises. A well-written program gets half of it: an assumption that
every figure made from it states.
"""

from __future__ import annotations

from typing import NamedTuple

SHARE = 0.5  # of both peaks that is reached


class Machine(NamedTuple):
    """One processor. flops: a second, at its peak. bandwidth: bytes a second of its memory.

    memory: bytes. precision: of the flops. launch: seconds that every operation takes however
    small it is, an assumption.
    """

    name: str
    precision: str
    flops: float
    bandwidth: float
    memory: float
    launch: float = 5e-6

    def seconds(self, flops: float, nbytes: float = 0.0) -> float:
        """Time of one operation: its arithmetic or its memory traffic, whichever takes longer.

        Williams, Waterman and Patterson, "Roofline" (2009).
        """
        return self.launch + max(flops / self.flops, nbytes / self.bandwidth) / SHARE


MACHINES = (
    Machine("Quadro RTX 5000", "fp32", 11.2e12, 448e9, 16e9),
    Machine("V100 SXM2", "fp16", 125e12, 900e9, 16e9),
    Machine("A100 SXM 80 GB", "bf16", 312e12, 2039e9, 80e9),
    Machine("H100 SXM", "bf16", 989e12, 3350e9, 80e9),
)
"""From NVIDIA's data sheets, dense arithmetic without sparsity."""


def machine(name: str) -> Machine:
    """The machine of that name."""
    return {each.name: each for each in MACHINES}[name]
