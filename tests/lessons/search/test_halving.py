"""Rungs, the best of them, and the promotions of both forms of halving."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.lessons.search.algorithms.asha import Asha
from helpers.lessons.search.algorithms.halving import SuccessiveHalving, best, top
from helpers.lessons.search.algorithms.ranges import Choice, LogUniform, Uniform
from helpers.lessons.search.algorithms.rungs import Job, rungs
from helpers.lessons.search.algorithms.validation import folds

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


def test_rungs_and_who_is_the_best_by_hand() -> None:
    assert (rungs(1, 27, 3), rungs(2, 15, 2), rungs(5, 5, 4)) == ([1, 3, 9, 27], [2, 4, 8], [5])
    for wrong in ((0, 9, 3), (3, 2, 3), (1, 9, 1)):
        with pytest.raises(ValueError, match="1 ≤ least ≤ most and a factor of 2 or more"):
            rungs(*wrong)
    # What is no number is last.
    assert best({4: 0.5, 1: 0.5, 2: math.nan, 3: math.inf, 0: 0.7}, 5) == [1, 4, 0, 3, 2]
    # 3 alone is on the last rung, though its loss is the largest; 2 did better below.
    losses = [{0: 0.9, 1: 0.2, 2: 0.4, 3: 0.5}, {2: 0.3, 3: 0.6}, {3: 0.8}]
    assert top(losses, 9) == [3, 2, 1, 0] and top(losses, 2) == [3, 2]


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
    search = make(4, 1, 9, 3)
    job = search.next()
    search.report(job, 0.1)
    for again in (lambda: search.report(job, 0.2), lambda: search.give_up(job)):
        with pytest.raises(ValueError, match="does not run: it was reported already"):
            again()
    with pytest.raises(ValueError, match="at least one trial, not 0"):
        make(0, 1, 9, 3)


def test_each_range_has_its_ends_and_its_middle() -> None:
    assert [Uniform(2.0, 4.0).at(place) for place in (0.0, 0.5, 1.0)] == [2.0, 3.0, 4.0]
    span = LogUniform(0.01, 1.0)
    assert [span.at(place) for place in (0.0, 0.5, 1.0)] == pytest.approx([0.01, 0.1, 1.0])
    options = Choice(("a", "b", "c"))
    assert [options.at(place) for place in (0.0, 0.34, 0.67, 1.0)] == ["a", "b", "c", "c"]
    with pytest.raises(ValueError, match="0 < low ≤ high"):
        LogUniform(0.0, 1.0)


@given(st.integers(2, 200), st.data(), st.integers(0, 99))
def test_each_row_is_judged_by_once_and_never_trained_on_then(
    rows: int, data: st.DataObject, seed: int
) -> None:
    count = data.draw(st.integers(2, min(rows, 12)))
    found = folds(rows, count, seed)
    assert len(found) == count
    judged = np.concatenate([held for _, held in found])
    assert sorted(judged) == list(range(rows))
    for train, held in found:
        assert sorted([*train, *held]) == list(range(rows))
        assert list(train) == sorted(train) and list(held) == sorted(held)
    sizes = [len(held) for _, held in found]
    assert max(sizes) - min(sizes) <= 1
    again = folds(rows, count, seed)
    assert all((a[1] == b[1]).all() for a, b in zip(found, again, strict=True))
    with pytest.raises(ValueError, match=f"{rows} rows make 2 to {rows} folds, not"):
        folds(rows, data.draw(st.sampled_from([0, 1, rows + 1])))
