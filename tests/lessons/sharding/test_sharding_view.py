"""Lesson 14's clock and its figures on sharding."""

from __future__ import annotations

import pytest

from helpers.lessons.sharding.algorithms.memory import communication, memory
from helpers.lessons.sharding.experiments import sharded_clock
from helpers.lessons.sharding.figures import memory_view, sharding_view
from helpers.notebook.figures import png
from helpers.notebook.published import load

SMALL = sharded_clock.Setting(blocks=6, units=3, ranks=2)


@pytest.mark.parametrize("stage", [1, 3])
def test_the_scale_model_holds_what_the_real_one_would(stage):
    for step in sharded_clock.run(stage, setting=SMALL):
        expected = memory(SMALL.parameters, SMALL.ranks, stage).total
        assert step.held[-1][1] == pytest.approx(expected, rel=1e-12)
        units = SMALL.parameters / SMALL.units * 2  # bytes of one unit's row
        assert expected <= step.peak <= expected + 4 * units


def test_without_prefetching_a_step_is_computing_and_messages_in_turn():
    """Every unit waits for its own gather, and the last scatter is not hidden."""
    link, itself = "NVLink 3", 3 * SMALL.forward * SMALL.units
    (step, _) = sharded_clock.run(3, link, prefetch=False, setting=SMALL)
    sent = communication(SMALL.parameters, SMALL.ranks, 3)
    assert itself < step.seconds < itself + sent / 300e9 + 1e-3
    (ahead, _) = sharded_clock.run(3, link, prefetch=True, setting=SMALL)
    assert itself < ahead.seconds < step.seconds


def test_figures_are_drawn():
    runs = {f"stage {s}": sharded_clock.run(s, setting=SMALL)[0].held for s in (2, 3)}
    held = {stage: memory(1e4, 3, stage) for stage in (1, 2, 3)}
    for figure in (
        memory_view.stage_bars(),
        memory_view.by_ranks(load("zero_memory_gb_7.5B").data),
        memory_view.held_bars(held, held),
        memory_view.held_in_a_step(runs),
        sharding_view.seconds_by_link({"a link": {"stage 2": 0.5, "stage 3": 0.6}}, 0.4),
        sharding_view.real_steps({"stage 3": {"ours": 12.0, "FSDP2": 20.0}}),
        memory_view.fits(175.0, 1, 0, "float32"),
    ):
        assert png(figure).startswith(b"\x89PNG")


def test_the_knobs_fit_the_picture():
    knobs = {name: control.value for name, control in sharding_view.knobs().items()}
    assert "stage 1 31.4 GB" in memory_view.fits_words(**knobs)
    title = memory_view.fits(**knobs).axes[0].get_title()
    assert title == "stage 1: 31.4 GB, fits GPUs of 80 GB"
