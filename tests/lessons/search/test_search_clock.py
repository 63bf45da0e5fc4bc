"""Searches on the virtual clock: hours by hand, and the same decisions every time."""

from __future__ import annotations

import pytest

from benchmarks.search import promotions
from helpers.lessons.search.algorithms.asha import Asha
from helpers.lessons.search.algorithms.halving import SuccessiveHalving
from helpers.lessons.search.algorithms.promotions import Promotions, expected, wrong_promotions
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments.search_clock import (
    Search,
    Span,
    decisions,
    on_clock,
    speeds,
)
from helpers.lessons.search.experiments.search_models import Synthetic

MADE = {
    "random": lambda: SuccessiveHalving(30, 9, 9),
    "halving": lambda: SuccessiveHalving(30, 1, 9, 3),
    "asha": lambda: Asha(30, 1, 9, 3),
}


def by_trial(job: Job) -> float:
    """The later a trial begins, the better it is."""
    return -float(job.trial)


def test_a_search_by_hand() -> None:
    """Two workers, η = 2: the quick one takes trial 2 while the slow one is at trial 1."""
    search = SuccessiveHalving(4, 1, 2, 2)
    spans = on_clock(search, [2.0, 1.0], by_trial, search.resources)
    assert spans == [
        Span(0, Job(0, 0, 1), 0.0, 0.5, 0.0),
        Span(0, Job(2, 0, 1), 0.5, 1.0, -2.0),
        Span(1, Job(1, 0, 1), 0.0, 1.0, -1.0),
        Span(0, Job(3, 0, 1), 1.0, 1.5, -3.0),
        Span(0, Job(3, 1, 2), 1.5, 2.0, -3.0),
        Span(1, Job(2, 1, 2), 1.5, 2.5, -2.0),
    ]


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("workers", [1, 3, 40])
def test_decisions_are_equal_in_every_repeat(make: str, workers: int) -> None:
    losses = Synthetic(3, 0.5)

    def once() -> tuple[list[tuple[int, Job]], list[dict[int, float]]]:
        search: Search = MADE[make]()
        spans = on_clock(search, speeds(workers, 4.0, 3), losses.loss, search.resources)
        return decisions(spans), search.losses

    first = once()
    assert all(once() == first for _ in range(3))


def test_a_search_that_is_stuck_is_told() -> None:
    search = SuccessiveHalving(1, 5, 5)
    search.running.add(Job(9, 0, 5))  # it waits for somebody who is not there
    with pytest.raises(RuntimeError, match="All workers wait, and the search is not done"):
        on_clock(search, [1.0], by_trial, [5])


def test_speeds_differ_by_so_much() -> None:
    drawn = speeds(200, 4.0, 1)
    assert drawn == speeds(200, 4.0, 1) != speeds(200, 4.0, 2)
    assert min(drawn) < 1.1 and max(drawn) > 3.6 and all(1 <= each <= 4 for each in drawn)
    assert speeds(3, 1.0) == [1.0, 1.0, 1.0]
    for workers, spread in ((0, 4.0), (3, 0.5)):
        with pytest.raises(ValueError, match="There is 1 worker or more"):
            speeds(workers, spread)


# --- wrong promotions -----------------------------------------------------------------------------


def test_who_would_not_have_gone_on_is_counted_by_hand() -> None:
    early = [{0: 0.9, 1: 0.5, 2: 0.8, 3: 0.2}, {1: 0.4, 0: 0.6, 3: 0.1}, {1: 0.3}]
    patient = [{0: 0.9, 1: 0.5, 2: 0.8, 3: 0.2}, {1: 0.4, 3: 0.1}, {3: 0.05}]
    found = wrong_promotions(early, patient)
    assert found == [Promotions(3, 1), Promotions(1, 1)]
    assert [each.share for each in found] == [pytest.approx(1 / 3), 1.0]
    assert wrong_promotions(patient, patient) == [Promotions(2, 0), Promotions(1, 0)]
    with pytest.raises(ValueError, match="the same rungs, not 3 and 1"):
        wrong_promotions(early, patient[:1])


@pytest.mark.parametrize("workers", [1, 4])
def test_the_share_of_wrong_promotions_falls_as_the_paper_says(workers: int) -> None:
    """Li et al. (2020): about √n by mistake, so a share that falls. More seeds where n is small."""
    found = [
        (trials, *promotions(trials, workers, lambda seed: Synthetic(seed).loss, range(seeds)))
        for trials, seeds in ((27, 60), (243, 12))
    ]
    for trials, promoted, wrong in found:
        most, part = expected(trials)
        assert 0.15 * most < wrong < most and wrong / promoted < part
    (_, promoted, few), (_, more_promoted, more) = found
    assert few / promoted > more / more_promoted > 0
