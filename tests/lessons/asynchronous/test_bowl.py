"""Late gradients on one weight, and the bowl behind the sliders of lesson 06."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.lessons.asynchronous.algorithms.stale_cures import (
    BatchRows,
    DropStale,
    LowerRate,
    ScaleByStaleness,
    Warmup,
)
from helpers.lessons.asynchronous.algorithms.stale_descent import delayed_descent, highest_rate
from helpers.lessons.asynchronous.figures.bowl import descend
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Asynchronous


@pytest.mark.parametrize(("staleness", "curvature"), [(0, 4.0), (1, 1.0), (5, 4.0)])
def test_below_the_highest_rate_descent_settles_and_above_it_grows(staleness, curvature):
    noise = [0.0] * (300 * (staleness + 1))
    for part, settles in ((0.97, True), (1.03, False)):
        # A curvature of a is the same as a rate that is a times as high.
        rate = part * highest_rate(staleness, curvature) * curvature
        path = np.abs(delayed_descent(rate, staleness, noise))
        quarter = len(path) // 4
        assert (path[-quarter:].max() < path[:quarter].max()) == settles


def test_descent_without_delay_is_plain_descent():
    assert delayed_descent(0.5, 0, [0.0, 0.0, 0.2]) == pytest.approx([1, 0.5, 0.25, 0.025])


def bowl(workers, rate, cure=lambda rule: rule, **options):
    """A descent with a cure around the asynchronous rule."""
    return descend(lambda weights: cure(Asynchronous(weights, Sgd(rate), workers)), **options)


def test_the_bowl_shows_what_the_lesson_says():
    alone, eight = bowl(1, 0.3), bowl(8, 0.3)
    assert not alone.lost and alone.staleness.max() == 0
    assert eight.lost and "diverged" in eight.words
    for cure in (
        lambda rule: LowerRate(rule, 0.5),
        lambda rule: DropStale(rule, 4),
        ScaleByStaleness,
    ):
        assert not bowl(8, 0.3, cure).lost
    # A larger batch calms what does not diverge, and takes longer.
    small, large = bowl(8, 0.1), bowl(8, 0.1, lambda rule: BatchRows(rule, 128))
    assert large.rest < small.rest / 2
    assert large.seconds[-1] > 3 * small.seconds[-1]


def test_the_mean_staleness_is_n_minus_1_and_a_warmup_is_never_late():
    run = bowl(16, 0.02, updates=1200)
    assert abs(run.staleness[100:].mean() - 15) < 0.3
    warm = bowl(16, 0.02, lambda rule: Warmup(rule, 50))
    assert warm.staleness[:50].max() == 0 and warm.staleness[60:].mean() > 10
