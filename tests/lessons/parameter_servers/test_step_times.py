"""Step-time models: the moments they promise, streams of their own, sentences for bad input."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

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
def test_draws_are_seconds(model: StepTimes):
    for steps, workers in ((1, 1), (5, 120)):
        drawn = draws(model, steps, workers)
        assert drawn.shape == (steps, workers)
        assert np.isfinite(drawn).all() and (drawn > 0).all()


def test_a_gamma_has_its_mean_and_spread_and_a_heavy_tail_is_heavier():
    times = draws(Gamma(1.5, 0.3))
    assert times.mean() == pytest.approx(1.5, rel=0.01)
    assert times.std() / times.mean() == pytest.approx(0.3, rel=0.02)
    assert (draws(Gamma(1.5, 0.0)) == 1.5).all()
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


def test_the_kth_is_the_kth():
    model = Gamma(1.0, 0.4)
    drawn = model.draw(20, 5, np.random.default_rng(3))
    mean = mean_times_to_kth(model, 5, steps=20, seed=3)
    for k in range(1, 6):
        found = times_to_kth(model, k, 5, steps=20, seed=3)
        assert found.tolist() == [sorted(row)[k - 1] for row in drawn.tolist()]
        assert mean[k - 1] == pytest.approx(found.mean())
    with pytest.raises(ValueError, match="1st to a 5th"):
        times_to_kth(model, 6, 5)


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
    with pytest.raises(TypeError, match="such as Gamma"):
        OneSlow(1.0)  # type: ignore[arg-type]
