"""Figures of lesson 13: every combination of the widget draws, and what is counted is right."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from helpers.lessons.pipelines.algorithms.schedules import (
    gpipe,
    interleaved,
    naive,
    one_forward_one_backward,
)
from helpers.lessons.pipelines.experiments.kept import Kept
from helpers.lessons.pipelines.figures import pipeline_steps, pipeline_view
from helpers.lessons.pipelines.figures.pipeline_knobs import (
    INTERLEAVED,
    draw_schedule,
    fitting,
    played,
    two_chunks,
    words,
)

SCHEDULES = {
    "1F1B": one_forward_one_backward,
    "GPipe": gpipe,
    INTERLEAVED: two_chunks(interleaved),
    "one after the other": naive,
}


@pytest.fixture
def shown(monkeypatch):
    """What the views show, instead of showing it."""
    found: list[tuple[object, str, str]] = []

    def show(figure, caption, alt):
        found.append((figure, caption, alt))

    monkeypatch.setattr(pipeline_view, "show", show)
    monkeypatch.setattr(pipeline_steps, "show", show)
    return found


@pytest.mark.parametrize("schedule", list(SCHEDULES))
def test_the_widget_draws_all_of_its_corners(schedule):
    for stages, count in ((1, 1), (5, 3)):
        figure = draw_schedule(stages, count, schedule, SCHEDULES)
        assert len(figure.axes) == 2
        said = words(SCHEDULES)(stages, count, schedule)
        assert f"{fitting(schedule, stages, count)} microbatches" in said


def test_the_interleaved_schedule_gets_a_number_that_it_can_take():
    assert fitting(INTERLEAVED, 4, 5) == 8
    assert fitting("GPipe", 4, 5) == 5


def test_figures_say_their_numbers(shown):
    pipeline_view.show_schedules({"GPipe": played(gpipe, 2, 2)}, "a", "b")
    pipeline_view.show_held({"GPipe": [8, 8]}, {"GPipe": [8e6, 9e6]})
    rows = {"M1": [1.0, 1.2, 1.4], "M4": [1.6, 2.0, 3.0]}
    paper = rows | {"M1": [1.0, 1.0, 1.4]}
    pipeline_view.show_speedups([2, 4, 8], rows, rows, paper)
    pipeline_steps.show_real_bubble({1: [0.5, 0.6]}, {1: 0.5}, 2)
    pipeline_steps.show_contenders({"one rank": 0.2, "ours, GPipe": 0.1})
    figure, _, _ = shown[0]
    assert figure.axes[0].get_title(loc="left") == "GPipe: 9 s, idle 33 %"
    assert "within 20 %" in shown[2][1]
    assert "GPipe 8, 8. Megabytes that autograd kept: GPipe 8.0, 9.0." in shown[1][2]
    assert "the measured median and the formula in per cent: 1: 55 and 50." in shown[3][2]
    assert "one rank 200; ours, GPipe 100" in shown[4][2]
    assert shown[4][1].endswith("one rank: ours, GPipe 2.00.")


def test_what_is_kept_is_counted_until_it_is_freed():
    layer = nn.Linear(4, 8)
    x = torch.ones(2, 4, requires_grad=True)
    with Kept(layer.parameters()) as kept:
        y = layer(x).tanh()
        # Its input, and tanh's output; the weight is there anyway.
        assert kept.now == 4 * (2 * 4 + 2 * 8)
        y.sum().backward()
    assert kept.now == 0
    assert kept.peak == 4 * (2 * 4 + 2 * 8)
