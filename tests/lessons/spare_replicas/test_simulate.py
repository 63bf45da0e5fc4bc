"""The benchmark's contenders do the same work, and its figures say what they measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import goals, order_statistics, simpy_peer, simulate
from benchmarks.arrivals import asynchronous
from helpers.lessons.parameter_servers.experiments.step_times import HeavyTail
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers
from helpers.lessons.spare_replicas.figures import stragglers
from helpers.notebook import figures

pytest.importorskip("simpy")


@pytest.mark.parametrize("peer", [simpy_peer.with_timeouts, simpy_peer.with_resources])
@pytest.mark.parametrize("workers", [1, 3, 60])
def test_simpy_gives_the_same_arrivals(peer, workers):
    times = HeavyTail(1.0, 0.5).draw(12, workers, np.random.default_rng(workers))
    for message in (0.2 / workers, 1.5 / workers):
        ours, theirs = (run(times, message, message, 0.01) for run in (asynchronous, peer))
        assert simulate.difference(ours, theirs) < goals.ARRIVALS.target


@pytest.mark.thorough
def test_a_report_holds_each_contender_to_its_target(monkeypatch: pytest.MonkeyPatch):
    fewer = {"BESIDE": (3,), "SIZES": (3, 50), "UPDATES": 300, "MANY": 300, "REPEATS": 2}
    for name, value in fewer.items():
        monkeypatch.setattr(simulate, name, value)
    report = simulate.measure()
    assert [row.name for row in report.rows if row.case == "3 workers"] == [
        "ours",
        "SimPy, timeouts alone",
        "SimPy, resources",
    ]
    alike = [claim for claim in report.claims if "difference" in claim.text]
    assert len(alike) == 2 and all(claim.met for claim in alike)
    assert any("50 over 3" in claim.text.replace(" workers", "") for claim in report.claims)


def test_figures_show_the_optimum_and_the_published_points(shown: Any):
    found = shown(stragglers)
    model = FittedStragglers()
    means = order_statistics.mean_times_to_kth(model, 100)
    times = model.draw(4000, 100, np.random.default_rng(0))
    stragglers.show_kth(dict(enumerate(means.tolist(), 1)), times)
    stragglers.show_hours(order_statistics.hours(model))
    (kth, _, kth_alt), (hours, _, hours_alt) = found
    assert "1.77 s at 97" in kth_alt and len(kth.axes) == 2
    labels = [text.get_text() for text in hours.axes[0].get_legend().get_texts()]
    assert labels == ["iterations × mean time to N-th", "published", "least by the formula: 96 + 4"]
    assert "at 96" in hours_alt


@pytest.mark.parametrize(("needed", "spare", "tail"), [(1, 0, 0.0), (2, 3, "published")])
def test_widgets_draw_for_any_values(needed, spare, tail):
    assert figures.png(stragglers.draw_spares(needed, spare, tail)).startswith(b"\x89PNG")
    assert f"of {needed + spare} gradients" in stragglers.spares_alt(needed, spare, tail)
