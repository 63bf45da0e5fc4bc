"""Among the published stragglers spare replicas win, trained for real on the clock."""

from __future__ import annotations

from statistics import mean

import pytest

from helpers.engine.servers.training import Point
from helpers.lessons.spare_replicas.experiments.straggler_race import (
    contenders,
    race,
    seconds_to_target,
)

SEEDS = range(10)


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [50, 100])
def test_spare_replicas_are_the_first_at_the_target_and_no_less_accurate_than_async(workers):
    won, synchronous, asynchronous, spare = 0, [], [], []
    for seed in SEEDS:
        sync, late, spared = (race(contender, seed) for contender in contenders(workers))
        won += spared.seconds < min(sync.seconds, late.seconds)
        synchronous.append(sync.error)
        asynchronous.append(late.error)
        spare.append(spared.error)
    assert won >= 0.9 * len(SEEDS)
    assert mean(spare) <= mean(asynchronous)
    assert sum(s <= a for s, a in zip(spare, asynchronous, strict=True)) >= 0.9 * len(SEEDS)


def test_one_lucky_look_does_not_reach_the_target():
    lucky = [Point(float(s), s, error) for s, error in enumerate([9.0, 9.0, 1.0, 9.0, 9.0, 9.0])]
    assert seconds_to_target(lucky) == float("inf")
    steady = [Point(float(s), s, 5.0) for s in range(6)]
    assert seconds_to_target(steady) == 4.0
