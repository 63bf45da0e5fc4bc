"""The clock of a job that fails: by hand, event by event against all at once, and formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from helpers.lessons.cluster.algorithms.effective import effective_share
from helpers.lessons.cluster.algorithms.quorum import quorum_share
from helpers.lessons.cluster.experiments.failure_clock import (
    Job,
    Luck,
    luck,
    quorum,
    run,
    share,
)

HOUR = 1.0  # a job of one GPU that fails every hour


def every(*seconds: float, places: tuple[float, ...] = ()) -> Luck:
    """Failures at these distances, for a job that fails every 3600 s."""
    gaps = np.array(seconds) / 3600
    return Luck(gaps, np.array(places or [0.5] * len(seconds)))


def test_a_job_by_hand() -> None:
    """Restart 10, work 30, save 5: the failure after 100 s comes in the third stretch of work."""
    job = Job(HOUR, 1, save=5.0, restart=10.0)
    found = run(job, 30.0, every(100.0, 8.0), spans=True)
    assert found.spans == [
        ("restart", 0.0, 10.0),
        ("work", 10.0, 40.0),
        ("save", 40.0, 45.0),
        ("work", 45.0, 75.0),
        ("save", 75.0, 80.0),
        ("lost", 80.0, 100.0),
        ("restart", 100.0, 108.0),
    ]
    assert (found.useful, found.seconds) == (60.0, 108.0)
    assert share(job, 30.0, every(100.0, 8.0)) == pytest.approx(60 / 108)


def test_a_checkpoint_that_is_not_complete_is_worth_nothing() -> None:
    """The second save ends at 80 s and is complete at 100: it counts at 101, and not at 99."""
    job = Job(HOUR, 1, save=5.0, restart=10.0, behind=20.0)
    assert run(job, 30.0, every(99.0)).useful == 30.0
    late = run(job, 30.0, every(101.0), spans=True)
    assert late.useful == 60.0
    assert late.spans[-1] == ("lost", 80.0, 101.0)


def test_a_quorum_by_hand() -> None:
    """Two groups, back after 10 s. Group 1 fails after 50 s and again after 55, before it is back
    at 65: group 0 stands still for 4 s, and goes on at half. So it does when it fails itself."""
    job = Job(2 * HOUR, 2, save=0.0, restart=10.0, groups=2, stall=4.0)
    failures = every(50.0, 5.0, 45.0, places=(0.9, 0.9, 0.1))
    useful = 40.0 + 0.5 * (65.0 - 54.0) + (100.0 - 65.0)
    assert quorum(job, failures) == pytest.approx(useful / 100.0)


@settings(max_examples=60, deadline=None)
@given(
    some.floats(0.001, 3.0),
    some.floats(0.0, 1.0),
    some.floats(0.0, 2.0),
    some.floats(0.0, 1.0),
    some.integers(0, 10**6),
)
def test_event_by_event_is_all_at_once(
    interval: float, save: float, restart: float, late: float, seed: int
) -> None:
    """late: how long a checkpoint takes behind the save, as a share of what it may."""
    job = Job(HOUR, 1, 3600 * save, 3600 * restart, 3600 * late * (interval + save))
    failures = luck(20, seed)
    one = run(job, 3600 * interval, failures)
    assert one.share == pytest.approx(float(share(job, 3600 * interval, failures)), abs=1e-9)
    assert one.seconds == pytest.approx(3600 * failures.gaps.sum())


@pytest.mark.parametrize("interval", [60.0, 600.0, 3600.0])
@pytest.mark.parametrize("behind", [0.0, 50.0])
def test_the_clock_gives_the_formulas_share(interval: float, behind: float) -> None:
    job = Job(HOUR, 1, save=20.0, restart=300.0, behind=behind)
    expected = effective_share(interval, 20.0, 300.0, 3600.0) * math.exp(-behind / 3600)
    assert float(share(job, interval, luck(400_000, 4))) == pytest.approx(expected, abs=3e-3)


@pytest.mark.parametrize("groups", [3, 5, 32])
def test_a_quorum_gives_the_formulas_share(groups: int) -> None:
    job = Job(32 * HOUR, 32, save=0.0, restart=100.0, groups=groups, stall=20.0)
    expected = quorum_share(groups, 100.0, 20.0, 3600.0)
    assert quorum(job, luck(20_000, 5)) == pytest.approx(expected, abs=2e-3)
