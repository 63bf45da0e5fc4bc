"""Lesson 14's clocks, and what its widget says; its figures are shown in `test_shown`."""

from __future__ import annotations

import pytest

import helpers
from helpers.lessons.sharding.algorithms.memory import communication, memory
from helpers.lessons.sharding.algorithms.sequence_places import contiguous, pairs, striped
from helpers.lessons.sharding.experiments import ring_clock, sharded_clock
from helpers.lessons.sharding.figures import memory_view, sharding_view

SMALL = sharded_clock.Setting(blocks=6, units=3, ranks=2)


def test_the_scale_model_holds_what_the_real_one_would():
    for step in sharded_clock.run(3, setting=SMALL):
        expected = memory(SMALL.parameters, SMALL.ranks, 3).total
        assert step.held[-1][1] == pytest.approx(expected, rel=1e-12)


def test_without_prefetching_a_step_is_computing_and_messages_in_turn():
    """Every unit waits for its own gather, and the last scatter is not hidden."""
    link, itself = "NVLink 3", 3 * SMALL.forward * SMALL.units
    (step, _) = sharded_clock.run(3, link, prefetch=False, setting=SMALL)
    sent = communication(SMALL.parameters, SMALL.ranks, 3)
    assert itself < step.seconds < itself + sent / 300e9 + 1e-3
    (ahead, _) = sharded_clock.run(3, link, prefetch=True, setting=SMALL)
    assert itself < ahead.seconds < step.seconds


def test_work_in_a_ring_is_what_the_pairs_say():
    setting, took = ring_clock.RingSetting(), {}
    for deal in (contiguous, striped):
        places = deal(4096, 4)
        run = helpers.run(ring_clock.work, places, True, setting.pair, ranks=4, **setting.clock)
        took[deal] = run.trace.duration
        longest = float(pairs(places).sum(1).max()) * setting.pair
        # Blocks of 1024 positions are longer than what hides their messages, on this link.
        assert run.trace.duration == pytest.approx(longest, rel=0.02)
    assert took[contiguous] / took[striped] == pytest.approx(1.75, rel=0.01)


def test_the_knobs_fit_the_picture():
    knobs = {name: control.value for name, control in sharding_view.knobs().items()}
    assert "stage 1 31.4 GB" in memory_view.fits_words(**knobs)
    title = memory_view.fits(**knobs).axes[0].get_title()
    assert title == "stage 1: 31.4 GB, fits GPUs of 80 GB"
