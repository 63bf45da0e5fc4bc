"""What computing and which links give the speedups that were published: assumptions, said openly.

Géron's chapter reports 6× on 8 GPUs, 32× and 25–40× on 50 and 300× on 500, without their computing
times and links. Each case here assumes them, and the formulas of lesson 09 give the speedup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from helpers.lessons.bandwidth.algorithms.scaling import ring_speedup, server_seconds

TEN_GBIT = 1.25e9  # bytes a second
LATENCY = 50e-6


class Case(NamedTuple):
    """One published speedup and what is assumed for it.

    published: the lowest and the highest value. compute: seconds of a worker's step. nbytes: that
    a worker exchanges in it. servers: parameter servers, 0 for a ring. because: where the assumed
    numbers come from.
    """

    name: str
    gpus: int
    published: tuple[float, float]
    compute: float
    nbytes: float
    servers: int
    because: str

    def speedup(
        self,
        gpus: int,
        bandwidth: float = TEN_GBIT,
        ring: Callable[..., float] = ring_speedup,
        server: Callable[..., float] = server_seconds,
    ) -> float:
        """On so many GPUs, each on a host whose link has so many bytes a second.

        ring, server: the formulas of exercises 09.1 and 09.2.
        """
        if gpus == 1:
            return 1.0
        if not self.servers:
            return ring(gpus, self.compute, self.nbytes, LATENCY, bandwidth)
        servers = max(self.servers * gpus // self.gpus, 1)  # so many GPUs share one at any size
        exchange = server(gpus, servers, self.nbytes, LATENCY, bandwidth)
        return gpus * self.compute / (self.compute + exchange)


CASES = (
    Case(
        "translation, 8 GPUs", 8, (6, 6), 1.7, 400e6, 0,
        "100 million parameters in float32; a batch takes 1.7 s",
    ),
    Case(
        "Inception, 50 GPUs", 50, (32, 32), 0.27, 95e6, 0,
        "Inception-v3's 23.8 million parameters in float32; a batch takes 0.27 s",
    ),
    Case(
        "dense, 50 GPUs, little computing", 50, (25, 25), 0.15, 95e6, 0,
        "as many bytes; a batch takes 0.15 s",
    ),
    Case(
        "dense, 50 GPUs, much computing", 50, (40, 40), 0.60, 95e6, 0,
        "as many bytes; a batch takes 0.6 s",
    ),
    Case(
        "RankBrain, 500 GPUs", 500, (300, 300), 0.024, 2e6, 100,
        "sparse: 2 MB of rows that a batch touches; a parameter server for every 5 GPUs, so 100; "
        "a batch takes 24 ms",
    ),
)  # fmt: skip
"""Every speedup of the chapter, by ring or by parameter servers, over links of 10 Gbit/s."""
