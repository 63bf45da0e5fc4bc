"""The four ways on a clock, and the timeline of their gradients."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.lessons.four_ways.experiments.record import WAYS, Gradient
from helpers.lessons.four_ways.experiments.runs import WayRun
from helpers.lessons.four_ways.figures import four_ways_view as view
from helpers.lessons.four_ways.figures.four_ways_view import model


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


def test_the_figures_of_the_ways(shown: Any) -> None:
    found = shown(view)
    assert "3 workers" in view.ways_alt(3, 5, 1.0, 1)
    assert len(view.draw_ways(3, 5, 1.0, 1).axes) == 2
    times = [i * 0.02 for i in range(40)]
    some = [Gradient(i % 2, t, t + 0.02, i, i % 2, 1.0, i % 4 > 0) for i, t in enumerate(times)]
    run = WayRun("between-graph sync", 3, 1, some, [], 1.0, 40)
    assert 13 <= len(view.middle_of(run)) <= 15
    view.show_step_gradients({"one": run, "two": run}, run)
    assert len(found[-1].figure.axes) == 2 and "dropped" in found[-1].alt
    runs = []
    for number, way in enumerate(WAYS):
        stale = number if way.endswith("async") else 0
        rows = [Gradient(n % 2, n, n + 1.0, n, stale, 2.0 / (n + 1)) for n in range(20)]
        runs += 2 * [WayRun(way, 2, 1, rows, [], 0.5, len(rows))]
    view.show_four(runs)
    labels = [ax.get_xlabel() for ax in found[-1].figure.axes]
    assert labels == ["batches a second", "mean staleness (updates)", "final loss (nats)"]
    names = [label.get_text() for label in found[-1].figure.axes[0].get_yticklabels()]
    assert names == list(WAYS)
    texts = [text.get_text().strip() for text in found[-1].figure.axes[1].texts]
    assert texts == ["0.0, max. 0", "0.0, max. 0", "2.0, max. 2", "3.0, max. 3"]
    words = "between-graph async: 1 batches a second, staleness 3.0, at most 3, loss 0.50"
    assert words in found[-1].alt
    view.show_losses(runs[::2])
    assert len(found[-1].figure.axes[0].lines) == 4
    assert "The two synchronous ways lie on each other" in found[-1].caption
    other = [row._replace(loss=row.loss + 0.5) for row in runs[0].gradients]
    view.show_losses([WayRun("in-graph sync", 2, 1, other, [], 0.5, 20), *runs[2::2]])
    assert "The two synchronous ways are up to 0.5 nats apart" in found[-1].caption
