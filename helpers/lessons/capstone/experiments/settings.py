"""The three settings of the comparison, a fourth to predict, and what the ways to train are called.

A step's computing is stated, not left to this machine's cores: workers sleep for it, or the clock
moves on, as if each had a processor of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from helpers.lessons.parameter_servers.experiments.step_times import Constant, OneSlow, StepTimes
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers
from helpers.notebook.repeats import enough

WAYS = ("synchronous", "asynchronous", "spare replicas", "local steps", "vertical slices")
SHORT = enough(5) < 5  # the tests' budget
SEEDS = tuple(range(max(2, enough(5))))  # with one there would be no pairs
STEPS = 120 if SHORT else 250
TARGET = 45.0 if SHORT else 13.0  # % test error, as the mean of three looks
INTERVAL = 10  # local steps between two averages
RATES = (0.003, 0.008, 0.02, 0.05, 0.12, 0.25, 0.5, 1.0)
TUNING_SEEDS = (1000, 1001)
SEARCHED = RATES[1::2] if SHORT else RATES
BUDGET = len(SEARCHED) + 2  # trainings of each way's search
LOOKS = 15 if SHORT else 30  # at the model, in a run


@dataclass(frozen=True)
class Setting:
    """Where a training runs. engine: of `helpers.train` and `helpers.run`.

    workers: each computes gradients of `rows` rows; a step of all sees workers · rows. steps: of
    all, in a run, however a way makes updates of them. compute: seconds of a gradient. slow: that
    many times as long takes the last worker. bandwidth: bytes a second of each link, in each
    direction, None for as quick as the machine is. aggregate: gradients of a step with spare
    replicas. latency: seconds of a message, on the clock. mnist_at: pictures are made of
    MNIST's, which lie there (see `digits`), instead of scikit-learn's.
    """

    name: str
    engine: str
    workers: int
    rows: int
    steps: int
    aggregate: int
    compute: float = 0.0
    slow: float = 1.0
    bandwidth: float | None = None
    latency: float = 50e-6
    mnist_at: str | None = None

    @property
    def times(self) -> StepTimes:
        """Seconds of the workers' gradients, as the clock draws them."""
        if not self.compute:
            return FittedStragglers()
        if self.slow == 1:
            return Constant(self.compute)
        return OneSlow(Constant(self.compute), self.workers - 1, self.slow)

    @property
    def extra(self) -> dict[int, float]:
        """Seconds for which each worker of a real run sleeps in a step."""
        last = self.workers - 1
        return {w: self.compute * (self.slow if w == last else 1) for w in range(self.workers)}

    def on_clock(self) -> Setting:
        """The same on the virtual clock."""
        return replace(self, engine="virtual")


PROCESSES = Setting("processes", "processes", 4, 32, STEPS, aggregate=3, compute=0.004)
HOSTS = Setting(
    "hosts", "hosts", 4, 32, STEPS, aggregate=3, compute=0.004, slow=3.0, bandwidth=500e6 / 8
)
CLOCK = Setting("clock", "virtual", 50, 4, STEPS, aggregate=48, bandwidth=10e9 / 8)
ELSEWHERE = replace(
    HOSTS, name="elsewhere", engine="virtual", workers=16, aggregate=15, bandwidth=5e9 / 8
)
SETTINGS = {setting.name: setting for setting in (PROCESSES, HOSTS, CLOCK)}


def options_of(setting: Setting) -> dict[str, Any]:
    """What `helpers.train` takes for a setting, besides the rule."""
    common: dict[str, Any] = {"workers": setting.workers, "batch": setting.rows}
    if setting.engine == "virtual":
        common |= {"times": setting.times, "latency": setting.latency}
        if setting.bandwidth is not None:
            common |= {"hosts": True, "bandwidth": setting.bandwidth}
        return common
    common |= {"slow": setting.extra, "timeout": 120.0}
    if setting.engine == "hosts":
        common |= {"bandwidth": setting.bandwidth}
    return common
