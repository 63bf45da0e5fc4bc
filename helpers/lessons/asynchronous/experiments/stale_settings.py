"""Settings in which stale gradients do harm on the digits, and the cures tried on them.

Everything is trained for real on the virtual clock: so many workers, step times that scatter by
30 %, gradients of a network with two hidden layers. Chance is an error of about 90 %.
"""

from __future__ import annotations

from dataclasses import dataclass

from helpers.lessons.parameter_servers.experiments.step_times import Gamma

TIMES = Gamma(mean=1.0, spread=0.3)


@dataclass(frozen=True)
class Setting:
    """An asynchronous training. rate: the learning rate, which falls to 0 along a cosine if
    `falling`. updates: how many are made. rows: of a worker's batch."""

    workers: int
    rate: float
    updates: int
    momentum: float = 0.0
    falling: bool = True
    rows: int = 32

    @property
    def words(self) -> str:
        """The setting in a few words, for a figure."""
        momentum = f", momentum {self.momentum:g}" if self.momentum else ""
        falls = " falling to 0" if self.falling else " throughout"
        return f"{self.workers} workers, rate {self.rate:g}{falls}{momentum}"


# Diverges without a cure.
DIVERGES = Setting(workers=11, rate=0.28, updates=3000)
# Forty times too late, divided by forty: what is left of the rate learns too little in this time.
NOT_BY_SCALING = Setting(workers=41, rate=0.05, updates=2000)
# Momentum keeps stale gradients for longer: half the rate does not do, though a quarter does.
NOT_BY_HALF_THE_RATE = Setting(workers=21, rate=0.02, updates=2000, momentum=0.9)

STALENESS = (0, 5, 10, 15, 20, 25, 50, 75, 100)


def staleness_setting(staleness: int) -> Setting:
    """One more worker than updates that a gradient is late on average; everything else equal."""
    return Setting(workers=staleness + 1, rate=0.06, updates=1500)
