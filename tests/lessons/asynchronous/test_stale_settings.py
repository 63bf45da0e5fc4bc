"""What stale gradients do, and what ends it, trained for real on the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import helpers
from helpers.engine.servers.rule import Rule
from helpers.lessons.asynchronous.algorithms.stale_cures import (
    DropStale,
    LowerRate,
    ScaleByStaleness,
    Warmup,
)
from helpers.lessons.asynchronous.experiments import stale_settings as s
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd, cosine
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask
from helpers.notebook import published
from tests.selection import everyday

# Each of these alone ends that `DIVERGES` diverges, for every seed tried.
CURES: dict[str, Any] = {
    "a quarter of the rate": lambda rule: LowerRate(rule, 0.25),
    "dropped beyond 3": lambda rule: DropStale(rule, 3),
    "divided by staleness": ScaleByStaleness,
    "1800 updates alone": lambda rule: Warmup(rule, 1800),
}

# The rate does not fall: the solution that one worker finds is not stable for eleven, so a warmup
# alone only puts the end off.
NOT_BY_WARMUP = s.Setting(workers=11, rate=0.28, updates=3000, falling=False)


def final_errors(
    setting: s.Setting,
    cure: Callable[[Rule], Rule] = lambda rule: rule,
    seeds: Sequence[int] = range(5),
) -> list[float]:
    """The test error in % at the end, for each seed, by the course's rule and a cure around it."""
    rate = cosine(setting.rate, setting.updates) if setting.falling else setting.rate
    workers = setting.workers
    return [
        helpers.train(
            lambda weights: cure(Asynchronous(weights, Sgd(rate, setting.momentum), workers)),
            workers=workers, task=DigitsTask(seed=seed), batch=setting.rows,
            updates=setting.updates, times=s.TIMES, seed=seed,
        ).error
        for seed in seeds
    ]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("first", everyday([0, 100], 2))
def test_the_error_rises_with_staleness_as_published(first):
    data = published.load("chen2017_fig2_mnist_err_pct").data
    errors = [
        np.mean(final_errors(s.staleness_setting(late), seeds=range(first, first + 3)))
        for late in s.STALENESS
    ]
    theirs = [data[str(late)] for late in s.STALENESS]
    assert spearmanr(errors, theirs).statistic >= 0.9
    assert errors[-1] > 10 * errors[0]


@pytest.mark.parametrize("seed", everyday([0, 1, 2, 100, 101], 5))
def test_it_diverges_without_a_cure_and_each_cure_alone_ends_that(seed):
    seeds = [seed]
    assert min(final_errors(s.DIVERGES, seeds=seeds)) > 25
    for name, cure in CURES.items():
        assert max(final_errors(s.DIVERGES, cure, seeds)) < 10, name


@pytest.mark.thorough
def test_one_cure_is_not_enough_everywhere():
    warmup = CURES["1800 updates alone"]
    assert min(final_errors(NOT_BY_WARMUP, warmup)) > 40
    assert min(final_errors(s.NOT_BY_SCALING, CURES["divided by staleness"])) > 40
    assert max(final_errors(s.NOT_BY_SCALING, warmup)) < 10
    assert min(final_errors(s.NOT_BY_HALF_THE_RATE, lambda rule: LowerRate(rule, 0.5))) > 20
    assert max(final_errors(s.NOT_BY_HALF_THE_RATE, warmup)) < 10
    never_falls = s.Setting(workers=11, rate=0.12, updates=1500, falling=False)
    both = final_errors(never_falls, lambda rule: Warmup(ScaleByStaleness(rule), 900), [0, 1])
    assert max(both) < 8 < 15 < min(final_errors(never_falls, lambda r: Warmup(r, 900), [0, 1]))
