"""Intervals and shares of time: against each other, against print, and against plain sums."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from helpers.lessons.cluster.algorithms.effective import effective_share
from helpers.lessons.cluster.algorithms.interval import (
    best_interval,
    checkpoint_interval,
    daly_interval,
    job_mtbf,
)
from helpers.lessons.cluster.algorithms.quorum import quorum_share
from helpers.notebook.published import load

MTBFS = some.floats(10.0, 1e7)
RATIOS = some.floats(1e-6, 3.0)  # of a save to the time between failures


def test_dalys_figures_are_met_to_the_printed_digit() -> None:
    printed = load("daly2006_best_intervals").data
    assert len(printed) == 3
    for minutes, best in printed.items():
        digits = 1 if best < 10 else 0
        assert round(daly_interval(5.0, float(minutes)), digits) == best


@settings(deadline=None)
@given(MTBFS, RATIOS)
def test_no_interval_is_better_than_the_best(mtbf: float, ratio: float) -> None:
    save = ratio * mtbf
    best = best_interval(save, mtbf)
    most = effective_share(best, save, 0.3 * mtbf, mtbf)
    for other in (0.5 * best, 0.97 * best, 1.03 * best, 2 * best):
        assert effective_share(other, save, 0.3 * mtbf, mtbf) <= most * (1 + 1e-12)


@settings(deadline=None)
@given(MTBFS, some.floats(1e-6, 1.0))
def test_daly_is_within_two_per_cent_of_the_best_up_to_a_save_of_mtbf(
    mtbf: float, ratio: float
) -> None:
    assert daly_interval(ratio * mtbf, mtbf) == pytest.approx(
        best_interval(ratio * mtbf, mtbf), rel=0.02
    )


def test_a_jobs_interval_shrinks_with_the_root_of_its_gpus() -> None:
    few, many = (checkpoint_interval(1.0, 600.0, 50_000.0, gpus) for gpus in (100, 10_000))
    assert few / many == pytest.approx(10, rel=0.03)
    assert checkpoint_interval(60, 0.0, 50_000, 512) == checkpoint_interval(60, 9e9, 50_000, 512)
    assert job_mtbf(50_000, 1) == 3600 * 50_000
    assert checkpoint_interval(60, 600, 50_000, 16_384) == daly_interval(60, 3600 * 50_000 / 16_384)


@settings(deadline=None)
@given(some.floats(0.01, 5.0), some.floats(0.0, 1.0), some.floats(0.0, 2.0), MTBFS)
def test_a_share_is_the_sum_over_all_saves_that_come_through(
    interval: float, save: float, restart: float, mtbf: float
) -> None:
    """The k-th save of a stretch comes through if no failure is before it."""
    step = interval + save
    sums = sum(math.exp(-(restart + k * step)) for k in range(1, int(60 / step) + 2))
    found = effective_share(interval * mtbf, save * mtbf, restart * mtbf, mtbf)
    assert found == pytest.approx(interval * sums, rel=1e-9)
    assert 0 < found < 1


def test_one_group_is_everybody_and_groups_are_always_better() -> None:
    assert quorum_share(1, 600, 600, 1e4) == pytest.approx(math.exp(-0.06))
    shares = [quorum_share(groups, 600, 60, 1e4) for groups in (1, 2, 3, 5, 128)]
    assert shares == sorted(shares)
    # With very many, only the moments in which all stand still are left.
    assert quorum_share(10**6, 600, 60, 1e4) == pytest.approx(math.exp(-0.006), rel=1e-4)
    assert quorum_share(64, 600, 0, 1e4) == pytest.approx(math.exp(-600 / 64e4))


def test_what_cannot_be_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="1 GPU or more"):
        job_mtbf(50_000, 0)
    with pytest.raises(ValueError, match="more than 0 s apart"):
        daly_interval(1.0, 0.0)
    with pytest.raises(ValueError, match="0 s or more"):
        daly_interval(-1.0, 1.0)
    with pytest.raises(ValueError, match="Work between two saves"):
        effective_share(0.0, 1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="up to a restart"):
        quorum_share(4, 10.0, 11.0, 100.0)
