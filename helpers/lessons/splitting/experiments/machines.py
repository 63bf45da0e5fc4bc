"""Processors with their published peaks, for runs on the virtual clock.

A peak is what a data sheet promises; `share` says how much of it a well-written program gets,
and is an assumption that every figure made from it states.
"""

from __future__ import annotations

from typing import NamedTuple


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

    def seconds(self, flops: float, nbytes: float = 0.0, share: float = 0.5) -> float:
        """Time of one operation: its arithmetic or its memory traffic, whichever takes longer.

        share: of both peaks that is reached. Williams, Waterman and Patterson, "Roofline" (2009).
        """
        if not 0 < share <= 1:
            raise ValueError(f"share={share} is no share of the peak: give 0 < share ≤ 1.")
        return self.launch + max(flops / self.flops, nbytes / self.bandwidth) / share


MACHINES = (
    Machine("Quadro RTX 5000", "fp32", 11.2e12, 448e9, 16e9),
    Machine("V100 SXM2", "fp16", 125e12, 900e9, 16e9),
    Machine("A100 SXM 80 GB", "bf16", 312e12, 2039e9, 80e9),
    Machine("H100 SXM", "bf16", 989e12, 3350e9, 80e9),
)
"""From NVIDIA's data sheets, dense arithmetic without sparsity."""


def machine(name: str) -> Machine:
    """The machine of that name. Raises KeyError with the names that there are."""
    for each in MACHINES:
        if each.name == name:
            return each
    raise KeyError(
        f"There is no machine {name!r}. There are: {', '.join(m.name for m in MACHINES)}."
    )
