"""Settings in which stale gradients do harm on the digits, and the cures tried on them.

Everything is trained for real on the virtual clock: so many workers, step times that scatter by
30 %, gradients of a network with two hidden layers. Chance is an error of about 90 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from helpers.engine.servers.rule import Rule
from helpers.engine.servers.training import Training
from helpers.lessons.asynchronous.algorithms.stale_cures import (
    DropStale,
    LowerRate,
    ScaleByStaleness,
    Warmup,
)
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd, cosine
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask
from helpers.lessons.parameter_servers.experiments.step_times import Gamma

Cure = Callable[[Rule], Rule]
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


def train(setting: Setting, seed: int, cure: Cure | None = None, evaluate: int = 0) -> Training:
    """Train in a setting. cure: put around the asynchronous rule. evaluate: so many updates lie
    between two looks at the test error."""
    import helpers

    rate = cosine(setting.rate, setting.updates) if setting.falling else setting.rate

    def rule(weights: object) -> Rule:
        plain = Asynchronous(weights, Sgd(rate, setting.momentum), setting.workers)
        return cure(plain) if cure else plain

    return helpers.train(
        rule,
        workers=setting.workers,
        task=DigitsTask(seed=seed),
        batch=setting.rows,
        updates=setting.updates,
        evaluate_every=evaluate,
        times=TIMES,
        seed=seed,
    )


def final_errors(
    setting: Setting, cure: Cure | None = None, seeds: Sequence[int] = range(5)
) -> list[float]:
    """The test error in % at the end, for each seed."""
    return [train(setting, seed, cure).error for seed in seeds]


# Diverges without a cure; each of these alone ends that, for every seed tried.
DIVERGES = Setting(workers=11, rate=0.28, updates=3000)
CURES: dict[str, Cure] = {
    "a quarter of the rate": lambda rule: LowerRate(rule, 0.25),
    "dropped beyond 3": lambda rule: DropStale(rule, 3),
    "divided by staleness": ScaleByStaleness,
    "1800 updates alone": lambda rule: Warmup(rule, 1800),
}

# The rate does not fall: the solution that one worker finds is not stable for eleven, so a warmup
# alone only puts the end off.
NOT_BY_WARMUP = Setting(workers=11, rate=0.28, updates=3000, falling=False)
# Forty times too late, divided by forty: what is left of the rate learns too little in this time.
NOT_BY_SCALING = Setting(workers=41, rate=0.05, updates=2000)
# Momentum keeps stale gradients for longer: half the rate does not do, though a quarter does.
NOT_BY_HALF_THE_RATE = Setting(workers=21, rate=0.02, updates=2000, momentum=0.9)

STALENESS = (0, 5, 10, 15, 20, 25, 50, 75, 100)


def staleness_setting(staleness: int) -> Setting:
    """One more worker than updates that a gradient is late on average; everything else equal."""
    return Setting(workers=staleness + 1, rate=0.06, updates=1500)
