"""Intervals and shares of time: against each other, against print, and against plain sums."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from helpers.lessons.cluster.algorithms.effective import effective_share
from helpers.lessons.cluster.algorithms.interval import (
    best_interval,
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
@given(MTBFS, some.floats(1e-6, 1.0))
def test_daly_is_within_two_per_cent_of_the_best_up_to_a_save_of_mtbf(
    mtbf: float, ratio: float
) -> None:
    assert daly_interval(ratio * mtbf, mtbf) == pytest.approx(
        best_interval(ratio * mtbf, mtbf), rel=0.02
    )


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
