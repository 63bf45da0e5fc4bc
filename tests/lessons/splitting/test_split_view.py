"""Lesson 12's figures and clocks: what they say is what was counted. No time is asserted."""

from __future__ import annotations

import pytest

from helpers.lessons.splitting.algorithms.partly_connected import band, block_owners, crossings
from helpers.lessons.splitting.algorithms.wave import Ran
from helpers.lessons.splitting.figures import split_knobs, split_view, wave_view
from helpers.notebook import published


def test_every_figure_says_what_it_shows(shown):
    found = shown(split_view, wave_view)
    masks = [band(6, 6, 1), band(6, 6, 1)]
    crossing = split_view.show_crossings(masks, {"blocks": block_owners([6] * 3, 2)}, crossings)
    # Two values at the one border, in each of two layers.
    assert crossing == {"blocks": [2, 2]} and "blocks 4" in found[-1].alt
    split_view.show_counted(
        {"one": (1e-3, 0.0), "two": (5e-4, 2e-3)}, {"one": 1e-3, "two": 3e-3}, "Said."
    )
    assert "two: counted 2.5 ms, of which messages 2.0, measured 3.0 ms" in found[-1].alt
    split_view.show_speedups([64, 128], [0.5, 1.2], [0.4, 1.1], rows=8)
    assert "128 units: counted 1.20, measured 1.10" in found[-1].alt
    split_view.show_gains(["slow", "quick"], {"wave": [0.5, 3.0]})
    assert "wave from 0.50 over slow to 3.00" in found[-1].alt
    split_view.show_distbelief(published.load("distbelief_fig3").data)
    assert "falls to 0.95 on 16" in found[-1].alt
    wave_view.show_wave(layers=3, steps=5, ranks=2)
    assert "from 0 at the lower left to 6 at the upper right" in found[-1].alt
    ran = [
        [Ran("forward", 0, 1.0, 2.0), Ran("backward", 0, 4.0, 6.0)],
        [Ran("forward", 0, 2.0, 3.0), Ran("backward", 0, 3.0, 4.0)],
    ]
    wave_view.show_chunks(ran, speedup=1.5)
    assert "5000 ms" in found[-1].alt and "1.50 times" in found[-1].alt


def test_the_widget_counts_what_split_cost_counts():
    found = split_knobs.speedups(1024, 32, chunks=16, rate=50e9, alpha=0.0, beta=0.0)
    # Where messages cost nothing: by layer nothing, vertically everything, the wave its formula.
    assert found["dense, by layer"] == pytest.approx([1.0] * 5)
    assert found["dense, vertical"] == pytest.approx(list(split_knobs.RANKS))
    waves = [n * 16 / (16 + n - 1) for n in split_knobs.RANKS]
    assert found["recurrent, wave"] == pytest.approx(waves)
    assert split_knobs.knobs_picture(256, 32, 1, 50.0, 1.0).axes
    assert "On 16 ranks" in split_knobs.knobs_words(256, 32, 1, 50.0, 1.0)
