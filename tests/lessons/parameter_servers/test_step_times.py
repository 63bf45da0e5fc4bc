"""Step-time models: the moments they promise, streams of their own, sentences for bad input."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.order_statistics import mean_times_to_kth, times_to_kth
from helpers.lessons.parameter_servers.experiments.step_times import (
    BLOCK,
    Constant,
    Gamma,
    HeavyTail,
    OneSlow,
    StepTimes,
)
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers

MODELS = [
    Constant(2.0),
    Gamma(1.5, 0.3),
    HeavyTail(1.0, 0.5),
    OneSlow(Gamma(), worker=1, factor=4.0),
    FittedStragglers(),
]


def draws(model: StepTimes, steps: int = 20_000, workers: int = 10) -> np.ndarray:
    return model.draw(steps, workers, np.random.default_rng(0))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_workers_times_depend_on_the_seed_and_its_number_alone(model: StepTimes):
    steps = BLOCK + 10
    alone = list(islice(model.stream(2, seed=7), steps))
    others = [model.stream(worker, seed=7) for worker in range(4)]
    taken: list[list[float]] = [[] for _ in others]
    random = np.random.default_rng(1)
    while min(len(times) for times in taken) < steps:
        worker = int(random.integers(4))
        taken[worker].append(next(others[worker]))
    assert taken[2][:steps] == alone
    # The table of a timing-only run holds the same seconds.
    assert model.table(steps, 4, seed=7)[:, 2].tolist() == alone
    if not isinstance(model, Constant):
        assert taken[3][:steps] != alone
        assert list(islice(model.stream(2, seed=8), steps)) != alone


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@given(steps=st.integers(1, 5), workers=st.integers(1, 120), seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_draws_are_seconds_and_repeat(model: StepTimes, steps: int, workers: int, seed: int):
    first, second = (model.draw(steps, workers, np.random.default_rng(seed)) for _ in range(2))
    assert first.shape == (steps, workers)
    assert np.isfinite(first).all() and (first > 0).all()
    assert (first == second).all()


def test_gamma_has_its_mean_and_spread():
    times = draws(Gamma(1.5, 0.3))
    assert times.mean() == pytest.approx(1.5, rel=0.01)
    assert times.std() / times.mean() == pytest.approx(0.3, rel=0.02)
    assert (draws(Gamma(1.5, 0.0)) == 1.5).all()


def test_a_heavy_tail_is_heavier_than_a_gamma_of_the_same_spread():
    heavy = draws(HeavyTail(2.0, 0.5))
    assert np.median(heavy) == pytest.approx(2.0, rel=0.01)
    assert (heavy > 2.0 * 3.2).mean() == pytest.approx(0.01, abs=0.002)
    alike = draws(Gamma(heavy.mean(), heavy.std() / heavy.mean()))
    assert np.quantile(heavy, 0.9999) > 1.1 * np.quantile(alike, 0.9999)


def test_one_slow_worker_is_slow_in_every_step():
    base, slow = Gamma(), OneSlow(Gamma(), worker=1, factor=4.0)
    assert (draws(slow, 50)[:, 1] == 4 * draws(base, 50)[:, 1]).all()
    assert (draws(slow, 50)[:, 2] == draws(base, 50)[:, 2]).all()
    # Of the stream of the slow worker's own as well.
    assert next(slow.stream(1, 0)) == 4 * next(base.stream(1, 0))


@pytest.mark.parametrize("model", MODELS[:-1], ids=lambda model: type(model).__name__)
def test_on_a_clock_most_models_take_step_after_step(model: StepTimes):
    seconds, stream = model.on_clock(1, seed=7), model.stream(1, seed=7)
    assert [seconds(now) for now in (0.0, 0.0, 9.0, 300.0)] == list(islice(stream, 4))


@pytest.mark.parametrize("worker", [0, 2, 99])
def test_on_a_clock_a_straggler_stays_one_for_a_spell(worker: int):
    model = FittedStragglers(spell=4.0)
    table = model.table(BLOCK + 40, 100, seed=7)[:, worker]
    seconds = model.on_clock(worker, seed=7)
    for now in (0.0, 3.99, 4.0, 4.0 * (BLOCK - 1), 4.0 * BLOCK + 0.5, 4.0 * (BLOCK + 39), 8.0):
        assert seconds(now) == table[int(now // 4)]
    slow = OneSlow(model, worker=worker, factor=3.0)
    assert slow.on_clock(worker, seed=7)(9.0) == 3 * seconds(9.0)
    assert slow.on_clock(worker + 1, seed=7)(9.0) == model.on_clock(worker + 1, seed=7)(9.0)


def test_workers_of_a_step_share_how_busy_it_is():
    model = FittedStragglers()
    table = model.table(4 * BLOCK, 30, seed=3)
    body = np.median(table, axis=1)
    # Independent workers' medians of 30 would hardly move; these follow the step.
    assert body.std() > 0.08
    other = model.table(4 * BLOCK, 60, seed=3)[:, 30:]
    assert np.corrcoef(body, np.median(other, axis=1))[0, 1] > 0.8


def test_the_number_of_late_workers_spreads_wider_than_poissons():
    late = (draws(FittedStragglers(slow_share=0), 20_000, 90) > 2.2).sum(axis=1)
    assert late.var() > 1.5 * late.mean()


def test_one_machine_in_a_hundred_is_slow():
    mean = draws(FittedStragglers(), 5_000, 212).mean(axis=0)
    slow = np.flatnonzero(mean > mean.mean() + 0.3)
    assert slow.tolist() == [99, 199]


def test_the_longest_time_is_the_papers():
    times = draws(FittedStragglers(stuck=0.05), 2_000, 100)
    assert 250 < times.max() <= 310


@given(n=st.sampled_from([1, 2, 3, 5]), k=st.integers(1, 5), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_the_kth_is_the_kth(n: int, k: int, seed: int):
    model = Gamma(1.0, 0.4)
    if k > n:
        with pytest.raises(ValueError, match=f"1st to a {n}th"):
            times_to_kth(model, k, n)
        return
    found = times_to_kth(model, k, n, steps=20, seed=seed)
    drawn = model.draw(20, n, np.random.default_rng(seed))
    assert found.tolist() == [sorted(row)[k - 1] for row in drawn.tolist()]
    mean = mean_times_to_kth(model, n, steps=20, seed=seed)
    assert mean[k - 1] == pytest.approx(found.mean())
    assert (np.diff(mean) >= 0).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Constant(0), "seconds has to be above 0"),
        (lambda: Gamma(-1), "mean has to be above 0"),
        (lambda: Gamma(1, -0.1), "spread has to be 0 or more"),
        (lambda: HeavyTail(1, float("nan")), "tail has to be 0 or more"),
        (lambda: OneSlow(Gamma(), factor=0), "factor has to be above 0"),
        (lambda: FittedStragglers(stuck=2), "from 0 to 1"),
        (lambda: FittedStragglers(floor=0), "above 0"),
        (lambda: FittedStragglers(spell=0), "spell has to be above 0"),
        (lambda: FittedStragglers(spell=6), "hang twice"),
        (lambda: FittedStragglers(late=-1), "0 or more"),
        (lambda: Gamma().table(0, 1, 0), "at least one step"),
        (lambda: Gamma().draw(1, 0, np.random.default_rng(0)), "at least one worker"),
        (lambda: next(Gamma().stream(0, -1)), "numbered from 0"),
    ],
)
def test_bad_input_gets_a_sentence(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_a_slow_worker_needs_a_model_under_it():
    with pytest.raises(TypeError, match="such as Gamma"):
        OneSlow(1.0)  # type: ignore[arg-type]
