"""Attention in a ring on the virtual clock, with a GPU's and a link's published figures.

A position is a byte on the scale model's links, which are slower by as much: a message takes as
long as keys and values of the real width would. A query-key pair takes 4 · width operations, two
products of a multiplication and an addition each, at half of the GPU's peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from helpers.lessons.messages.algorithms.cost_model import INTERCONNECTS
from helpers.lessons.sharding.algorithms.sequence_places import pairs
from helpers.lessons.splitting.experiments.machines import machine


class RingSetting(NamedTuple):
    """A layer's attention in float16. bytes a number: 2."""

    width: int = 4096
    gpu: str = "A100 SXM 80 GB"
    link: str = "NVLink 3"

    @property
    def pair(self) -> float:
        """Seconds for a query and a key, over all heads."""
        return 4.0 * self.width / (0.5 * machine(self.gpu).flops)

    @property
    def position(self) -> float:
        """Seconds for the key and the value of one position on the link."""
        found = next(each for each in INTERCONNECTS if each.name == self.link)
        return 4.0 * self.width / found.bandwidth

    @property
    def hides(self) -> float:
        """Positions in a block from which on its work, without a mask, takes longer than it does
        to arrive: operations a second by bytes a second."""
        return self.position / self.pair

    @property
    def clock(self) -> dict[str, Any]:
        """The options of a run on the clock."""
        return {"engine": "virtual", "latency": 0.0, "bandwidth": 1 / self.position}


def work(comm: Any, places: Sequence[Tensor], causal: bool, pair: float) -> None:
    """Every rank's part: a block to the right, its pairs, a block from the left."""
    todo = pairs(places, causal)
    for step in range(comm.size):
        block = torch.zeros(len(places[(comm.rank - step) % comm.size]), dtype=torch.uint8)
        passing = step < comm.size - 1
        sending = comm.isend(block, (comm.rank + 1) % comm.size) if passing else None
        comm.compute(float(todo[comm.rank, step]) * pair)
        if sending is not None:
            comm.recv((comm.rank - 1) % comm.size)
            sending.wait()
