"""The cost model: who would win with four times the machines, and links ten times as fast.

It is the clock: real gradients decide how many updates a way needs, and stated seconds of computing
and of links how long they take. First it is held against what hosts measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from helpers.lessons.capstone.experiments.race import Table, Timed
from helpers.lessons.capstone.experiments.settings import TARGET, WAYS, Setting
from helpers.lessons.capstone.experiments.ways import train


def predicted_times(
    timed: Timed, setting: Setting, rates: Mapping[str, float], seeds: Sequence[int]
) -> Table:
    """Seconds to the target on the clock, by way, for each seed."""
    clock = setting.on_clock()
    return {
        way: [timed(partial(train, way, clock, rates[way], seed), TARGET)[0] for seed in seeds]
        for way in WAYS
    }
