"""Lesson 09's figures: what they say is what they were given, and what the formulas give."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.lessons.bandwidth.algorithms.scaling import ring_speedup, server_seconds
from helpers.lessons.bandwidth.experiments.speedup_cases import CASES, LATENCY
from helpers.lessons.bandwidth.figures import bandwidth_knobs, bandwidth_view
from helpers.lessons.bandwidth.figures.bandwidth_knobs import EXCHANGES


def test_every_figure_says_what_it_shows(shown: Any) -> None:
    found = shown(bandwidth_view)
    bandwidth_view.show_speedups({"small": {1: 1.0, 4: 0.98}}, {"small": lambda n: n / 2}, "Links.")
    said = "Speedup against hosts, measured. small: 1.00 on 1, 0.98 on 4."
    assert found[-1][1:] == ("Links.", said)
    lines, points = {"wide": {1: 0.1, 2: 0.3}}, {"wide": {1: 0.1, 2: 0.31}}
    for fitted in ([1], ()):
        bandwidth_view.show_predictions(lines, points, fitted, "Two hosts.", "on the virtual clock")
        assert "wide: 1 host 100 ms (100 predicted), 2 hosts 310 ms (300" in found[-1].alt
    bandwidth_view.show_bars({"one server": (0.84, 0.837)}, "Bars.", "measured")
    assert "one server: 840 ms, by the formula 837" in found[-1].alt
    bandwidth_view.show_published_speedups(CASES, lambda case, gpus: case.speedup(gpus))
    assert "Inception, 50 GPUs: 32 published, 31.9 computed" in found[-1].alt


def speedup(
    gpus: int, each: int, exchange: str, megabytes: float = 100.0, gbits: float = 10.0
) -> float:
    found = bandwidth_knobs.speedups(server_seconds, 200, megabytes, gbits, each, exchange)
    return found[gpus]


def test_the_widget_computes_what_the_exercises_do_and_shows_what_is_asked_for() -> None:
    assert {speedup(1, 1, exchange) for exchange in EXCHANGES} == {1.0}
    assert speedup(8, 1, "ring") == pytest.approx(ring_speedup(8, 0.2, 100e6, LATENCY, 1.25e9))
    exchange = server_seconds(8, 1, 100e6, LATENCY, 1.25e9)
    assert speedup(8, 1, "one server") == pytest.approx(8 * 0.2 / (0.2 + exchange))
    assert speedup(64, 1, EXCHANGES[3]) == pytest.approx(64 * 0.2 / (0.2 + exchange))
    assert speedup(64, 1, "one server", 400) < speedup(8, 1, "one server", 400) * 1.1
    assert speedup(16, 8, "two levels", 2000, 1) > 1.5 * speedup(16, 8, "ring", 2000, 1)
    assert speedup(16, 8, "two levels", 2000, 100) < speedup(16, 8, "ring", 2000, 100)
    knobs = {"compute_ms": 200, "MB": 100, "Gbit_per_s": 10, "GPUs_per_host": 1}
    words = bandwidth_knobs.knobs_words(server_seconds, "ring", **knobs)
    assert bandwidth_knobs.knobs_picture(server_seconds, "ring", **knobs).axes
    assert "100 MB, 10 Gbit/s a host, 1 GPU on each, ring: 4.7 on 8, 9.1" in words
    assert "Faint, on 16 GPUs: two levels 9.1" in words
