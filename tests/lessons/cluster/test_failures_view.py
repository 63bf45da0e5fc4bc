"""Lesson 17's figures and widget say what they were given, and what the clock gives."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.lessons.cluster.algorithms.effective import effective_share
from helpers.lessons.cluster.algorithms.interval import checkpoint_interval
from helpers.lessons.cluster.experiments import failure_published as published
from helpers.lessons.cluster.experiments.failure_clock import Job, luck, run
from helpers.lessons.cluster.figures import failures_view as view


def test_every_figure_says_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(view, "show", lambda figure, caption, alt: told.append((caption, alt)))
    job = Job(8.0, 16, save=120.0, restart=900.0)
    ran = run(job, 1200.0, luck(5, 5), spans=True)
    view.show_runs({"all": ran}, "R.")
    assert f"all: {100 * ran.share:.1f} % of {view.said(ran.seconds)}" in told[-1][1]
    view.show_intervals(job, checkpoint_interval, effective_share)
    chosen = checkpoint_interval(120.0, 900.0, 8.0, 16)
    assert f"the formula chooses {view.said(chosen)}" in told[-1][1]
    gpus = [256, 16_384]
    curves = published.shares_by_gpus(gpus, checkpoint_interval, effective_share)
    points = [
        each
        for each in published.published_shares(checkpoint_interval, effective_share)
        if each.gpus > 1000
    ]
    view.show_by_gpus(gpus, curves, curves, points)
    assert "92.0 % on 16384" in told[-1][1]
    assert "Llama 3, everybody restarts: more than 90 %" in told[-1][1]


def test_the_widget_says_what_the_formula_chooses() -> None:
    gpus = 1024
    formulas: Any = (checkpoint_interval, effective_share)
    knobs = {"GPUs": gpus, "years_a_GPU": 6.0, "save_s": 60.0, "restart_min": 10.0}
    words = view.knobs_words(*formulas, **knobs)
    hours = 6.0 * 365.25 * 24
    chosen = checkpoint_interval(60.0, 600.0, hours, gpus)
    there = effective_share(chosen, 60.0, 600.0, 3600 * hours / gpus)
    assert f"the formula chooses {view.said(chosen)}, which leaves {100 * there:.1f} %" in words
    title = view.knobs_picture(*formulas, **knobs).axes[0].get_title(loc="left")
    assert title.endswith(f"save after {view.said(chosen)} of work: {100 * there:.1f} % effective")
