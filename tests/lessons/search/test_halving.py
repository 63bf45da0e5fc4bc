"""Rungs, the best of them, and the promotions of both forms of halving."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.lessons.search.algorithms.asha import Asha
from helpers.lessons.search.algorithms.halving import SuccessiveHalving, best
from helpers.lessons.search.algorithms.rungs import Job, rungs

SEARCHES = [SuccessiveHalving, Asha]


def loss_of(job: Job, seed: int) -> float:
    """A loss that is the trial's own, nearly: ranks change from rung to rung."""
    random.seed(f"{seed} {job.trial} {job.rung}")
    return job.trial % 7 + random.random()


def run(search: SuccessiveHalving | Asha, workers: int, seed: int, kills: float = 0.0) -> list[Job]:
    """Workers that end in a random order; some die. Returns: the jobs that were reported."""
    chance, busy, reported = random.Random(seed), list[Job](), list[Job]()
    while not search.done():
        while len(busy) < workers and (job := search.next()) is not None:
            busy.append(job)
        job = busy.pop(chance.randrange(len(busy)))
        if chance.random() < kills:
            search.give_up(job)
            continue
        search.report(job, loss_of(job, seed))
        reported.append(job)
    assert search.next() is None
    return reported


def test_rungs_grow_by_the_factor() -> None:
    assert rungs(1, 27, 3) == [1, 3, 9, 27]
    assert rungs(2, 15, 2) == [2, 4, 8]
    assert rungs(5, 5, 4) == [5]


@pytest.mark.parametrize("wrong", [(0, 9, 3), (3, 2, 3), (1, 9, 1)])
def test_rungs_that_cannot_be_are_told(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="it takes 1 ≤ least ≤ most and a factor of 2 or more"):
        rungs(*wrong)


@given(st.integers(1, 40), st.integers(2, 4), st.integers(1, 6), st.integers(0, 99))
def test_synchronous_halving_promotes_the_best_of_a_complete_rung(
    trials: int, factor: int, workers: int, seed: int
) -> None:
    search = SuccessiveHalving(trials, 1, 27, factor)
    reported = run(search, workers, seed)
    assert len(set(reported)) == len(reported)
    alive = set(range(trials))
    for rung, resource in enumerate(search.resources):
        assert set(search.losses[rung]) == alive
        assert {job.resource for job in reported if job.rung == rung} <= {resource}
        alive = set(best(search.losses[rung], len(alive) // factor))


@given(st.integers(1, 40), st.integers(2, 4), st.integers(1, 6), st.integers(0, 99))
def test_asha_never_has_more_above_than_a_share_of_what_is_below(
    trials: int, factor: int, workers: int, seed: int
) -> None:
    search = Asha(trials, 1, 27, factor)
    reported = run(search, workers, seed)
    assert len(set(reported)) == len(reported)
    assert set(search.losses[0]) == set(range(trials))
    for lower, upper in zip(search.losses, search.losses[1:], strict=False):
        # Who is among the best once all is known has been promoted; others may have been, early.
        assert set(best(lower, len(lower) // factor)) <= set(upper) <= set(lower)


@pytest.mark.parametrize("make", SEARCHES)
@pytest.mark.parametrize(("workers", "kills"), [(1, 0.5), (2, 0.1), (3, 0.5), (5, 0.1)])
def test_no_trial_is_lost_with_its_worker(make: type, workers: int, kills: float) -> None:
    for seed in range(10):
        reported = run(make(30, 1, 9, 3), workers, seed, kills)
        assert len(set(reported)) == len(reported)
        assert {job.trial for job in reported if job.rung == 0} == set(range(30))


@pytest.mark.parametrize("make", SEARCHES)
def test_a_job_counts_once(make: type) -> None:
    search = make(4, 1, 9, 3)
    job = search.next()
    with pytest.raises(ValueError, match="has no loss: report NaN"):
        search.report(job, None)
    search.report(job, 0.1)
    for again in (lambda: search.report(job, 0.2), lambda: search.give_up(job)):
        with pytest.raises(ValueError, match="does not run: it was reported already"):
            again()
    with pytest.raises(ValueError, match="at least one trial, not 0"):
        make(0, 1, 9, 3)
