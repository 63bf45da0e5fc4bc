"""The four ways on a clock, and the timeline of their gradients."""

from __future__ import annotations

import pytest

from helpers.lessons.four_ways.experiments.four_ways_clock import WAYS, model
from helpers.lessons.four_ways.experiments.record import Gradient
from helpers.lessons.four_ways.experiments.runs import WayRun
from helpers.lessons.four_ways.figures.four_ways_knobs import draw_ways, ways_alt
from helpers.lessons.four_ways.figures.four_ways_timeline import draw_gradients, gradients_alt, seen


@pytest.mark.parametrize("way", WAYS)
def test_one_worker_is_never_stale_and_all_ways_are_one(way: str) -> None:
    found = model(way, workers=1, compute=0.01, client=0.002, slow=1)
    assert found.staleness == 0
    assert found.batches == pytest.approx(1 / 0.012, rel=0.02)


def test_without_a_clients_cost_the_asynchronous_ways_are_one() -> None:
    one = model("in-graph async", workers=5, compute=0.005, client=0.0, slow=1)
    many = model("between-graph async", workers=5, compute=0.005, client=0.0, slow=1)
    assert one.batches == pytest.approx(many.batches)
    # Workers that never pause are N - 1 updates late on average.
    assert one.staleness == pytest.approx(4, abs=0.1)


def test_a_slow_worker_holds_up_synchronous_ways_alone() -> None:
    for way in WAYS:
        even, uneven = (model(way, 4, 0.01, 0.0, slow).batches for slow in (1, 8))
        lost = 1 - uneven / even
        assert lost > 0.8 if way.endswith(" sync") else lost < 0.3, way


def test_the_knobs_tell_their_numbers_in_words() -> None:
    assert "3 workers" in ways_alt(3, 5, 1.0, 1)
    assert len(draw_ways(3, 5, 1.0, 1).axes) == 2


def test_a_timeline_shows_the_middle_and_tells_what_was_dropped() -> None:
    gradients = [
        Gradient(i % 2, i * 0.01, i * 0.01 + 0.01, i, i % 2, 1.0, i % 4 > 0) for i in range(40)
    ]
    run = WayRun("between-graph sync", 2, 1, gradients, [], 1.0, 40)
    shown = seen(run, 0.1)
    assert 10 <= len(shown) <= 12
    assert shown[0].start > 0.1
    assert "dropped" in gradients_alt({"one": run}, 0.1)
    assert len(draw_gradients({"one": run, "two": run}, 0.1).axes) == 2
