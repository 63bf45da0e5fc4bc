"""Lesson 15's figures and widget say what they were given, and what the clock counted."""

from __future__ import annotations

from statistics import mean
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.lessons.actors.algorithms.staleness import mean_staleness
from helpers.lessons.actors.exercises import counts, under_test
from helpers.lessons.actors.experiments import races
from helpers.lessons.actors.figures import actors_knobs
from helpers.lessons.actors.figures import actors_view as view


@pytest.fixture
def said(shown: Any) -> Any:
    """What is shown: figures, captions and alt texts."""
    return shown(view)


def test_curves_say_where_they_go(said: Any) -> None:
    view.show_cart_pole({"one": ([1, 2, 3], [10, 90, 50])}, "steps", 40.0, 100)
    assert said[0].alt == "steps by seconds: one from 10 to 50, at best 90. The goal is 40."
    assert "100 updates each, one run: one 3.0 s." in said[0].caption


def test_a_race_says_who_wrote_over_whom(said: Any) -> None:
    longer = counts.FAULTY.replace("0.001", "0.01")  # a hundredth of a second between
    after_the_step, _, _ = under_test.pieces("15.4", longer, counts.CODE)[1]
    found = races.search(after_the_step, steps=(3, 3))
    view.show_race(found, races.run(after_the_step, found.seconds))
    _, caption, alt = said[-1]
    assert f"6 steps were taken and {found.counted[0]} counted" in caption
    assert "reads before rank" in caption and "every event was the same" in caption
    read, _ = found.overwritten[0]
    assert f"rank {read.rank} reads {read.value} at {read.seconds:.2f} s" in alt
    other = races.run(after_the_step, races.times(found.seed + 1, (3, 3)))
    view.show_race(found, other)
    assert "it came out otherwise" in said[-1].caption


def test_speedups_are_over_one_actor(said: Any) -> None:
    view.show_speedup({1: 100.0, 2: 180.0, 4: 150.0}, {1: 1.0, 2: 2.0}, {1: 1, 16: 12.5}, 2)
    _, caption, alt = said[-1]
    assert "Most steps a second on 2 cores here: 2 actors, 1.80 times as many" in caption
    assert "1 actor 1.00, 2 actors 1.80, 4 actors 1.50" in alt and "16 threads 12.5" in alt
    view.show_parts({1: (1.0, 1.0), 2: (1.8, 0.5), 4: (1.5, None)}, 90.0, "% not lost", 2)
    assert "2 actors: compute 1.80, data 0.50, time 0.90" in said[-1].alt
    assert "4 actors: compute 1.50, not reached" in said[-1].alt
    assert "Here more actors took longer than one: 2 actors 1.11 times as long." in said[-1].caption


def test_staleness_is_set_beside_the_formula(said: Any) -> None:
    view.show_staleness([("4 actors", 4.1, 4.0), ("8 actors", 7.8, 8.0)])
    assert "differ by at most 0.20 updates" in said[-1].caption
    assert "8 actors: counted 7.80, formula 8" in said[-1].alt


def test_ways_are_means_over_seeds(said: Any) -> None:
    ways = [("A2C", 0.0, [1000, 2000], [[50.0, 80.0], [70.0, 90.0]]),
            ("late, V-trace", 9.0, [1000, 2000], [[40.0, 60.0], [50.0, 70.0]])]  # fmt: skip
    view.show_ways(ways, "% not lost", 90.0, 16)
    _, caption, alt = said[-1]
    assert "from the worst to the best of 2 seeds" in caption
    assert "A2C (0.0 updates late) ends at 85.0" in alt and "V-trace (9.0 updates late)" in alt


@pytest.mark.parametrize("knobs", [(16, 50, 1), (5, 200, 4)])
def test_the_widget_counts_what_the_formula_says(knobs: tuple[Any, ...]) -> None:
    actors, _, fetch_every = knobs
    late, rate = actors_knobs.clock_run(*knobs)
    formula = mean_staleness(actors, fetch_every=fetch_every)
    assert mean(late) == pytest.approx(formula, rel=0.12, abs=0.3)
    words = actors_knobs.words(*knobs)
    assert f"on average {mean(late):.1f}" in words and f"formula {formula:g}" in words
    assert f"a second by actors: {rate:.1f} of the" in words
    left, right = actors_knobs.picture(*knobs).axes
    assert f"{mean(late):.1f}" in left.get_title()
    assert right.lines[1].get_ydata()[0] == rate


def test_two_that_are_as_quick_are_said_to_be() -> None:
    made = {
        way: SimpleNamespace(steps_per_second=rate, updates=(500, 501))
        for way, rate in (("lock-free", 41191.0), ("locked", 41305.0))
    }
    assert "both were as quick, to the hundredth" in view.shared_words(made, 50.0, 90.0)
    made["locked"].steps_per_second = 50000.0
    words = view.shared_words(made, 50.0, 90.0)
    assert "locked was quicker, 1.21 times as quick as lock-free" in words
