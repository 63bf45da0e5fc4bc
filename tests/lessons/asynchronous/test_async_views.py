"""Lesson 06's figures of cures and of bounds say what their numbers say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

import helpers
from helpers.engine.servers.training import Point
from helpers.lessons.asynchronous.figures import bounded_view
from helpers.lessons.asynchronous.figures import cures_view as view
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import BoundedStaleness
from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask
from helpers.notebook.style import GREEN, ORANGE, RED

CURES = {
    "one": {"no cure": [(50.0, 10.0), (9.0, 10.0)], "slow": [(3.0, 30.0), (4.0, 30.0)]},
    "two": {"no cure": [(90.0, 10.0), (100.0, 10.0)], "slow": [(9.9, 30.0), (2.0, 30.0)]},
}
BOUNDS = {0: [40.0, 60.0], 3: [20.0, 30.0], 10: [25.0, 25.0], math.inf: [10.0, math.inf]}


def test_a_row_has_the_colour_that_the_caption_says(shown: Any) -> None:
    found = shown(view)
    view.show_cures(CURES)
    one, two, _ = found[0].figure.axes
    colours = [[to_hex(line.get_color()) for line in ax.lines[:2]] for ax in (one, two)]
    assert colours == [[to_hex(ORANGE), to_hex(GREEN)], [to_hex(RED), to_hex(GREEN)]]
    assert found[0].caption.endswith("Green in both: slow.")
    assert found[0].alt.endswith("these take longer than without a cure: slow.")
    assert "no cure 9, 50" in found[0].alt


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (120.0, None, "never"),
        (None, None, "never"),
        (None, 50.0, "8 times sooner"),
        (120.0, 15.0, "8 times sooner"),
        (120.0, 60.0, "a few times sooner"),
        (120.0, 118.0, "at about the same time"),
        (120.0, 190.0, "later"),
    ],
)
def test_how_soon_is_one_of_the_choices(one: float | None, other: float | None, words: str) -> None:
    assert view.how_soon(one, other) == words


def test_a_race_tells_when_each_is_there(shown: Any) -> None:
    found = shown(view)
    curves = {
        name: [Point(seconds=s, updates=s, error=e) for s, e in zip((0, 5, 9), errors, strict=True)]
        for name, errors in {"quick": (90.0, 4.0, 6.0), "lost": (90.0, 80.0, 91.0)}.items()
    }
    view.show_race(curves, 5, "Two.")
    assert found[0].caption == "Two. First at 5 %: quick after 5 s, lost never."
    assert "lost never, and ends at 91 %" in found[0].alt


def test_the_quickest_is_by_the_mean_and_one_that_never_came_counts_whole() -> None:
    assert bounded_view.mean(BOUNDS[math.inf], 100) == 55
    assert bounded_view.quickest(BOUNDS, 100) == 10  # of two equal ones the larger
    assert bounded_view.quickest(BOUNDS, 30) == math.inf
    assert [bounded_view.named(s) for s in (0, 3, np.inf)] == ["0", "3", "∞"]


def test_bounds_are_told(shown: Any) -> None:
    found = shown(bounded_view)
    bounded_view.show_when(
        {"mixed": BOUNDS, "sorted": {s: [5.0 if s else 4.0] for s in BOUNDS}}, 10, 100
    )
    assert "Quickest: mixed, s = 10; sorted, s = 0." in found[0].caption
    assert "mixed: s = 0 50 s" in found[0].alt and "s = ∞ 55 s" in found[0].alt
    runs = {
        bound: helpers.train(
            lambda weights, s=bound: BoundedStaleness(weights, Sgd(0.1), 2, s),
            workers=2, seconds=5.5, trace=True, task=DigitsTask((64, 10)),
        )
        for bound in (0, math.inf)
    }  # fmt: skip
    bounded_view.show_timelines(runs, slow=1, seconds=5.5)
    assert "s = 0: 10 gradients" in found[1].alt and "s = ∞: 10" in found[1].alt
