"""Figures of lesson 13 say what was counted; its widget draws; GPipe's published speedups."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from helpers.lessons.pipelines.algorithms.schedules import (
    gpipe,
    interleaved,
    naive,
    one_forward_one_backward,
)
from helpers.lessons.pipelines.experiments.gpipe_clock import (
    DEVICES,
    FITTED,
    samples,
    speedups,
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
from helpers.notebook.published import load

SCHEDULES = {
    "1F1B": one_forward_one_backward,
    "GPipe": gpipe,
    INTERLEAVED: two_chunks(interleaved),
    "one after the other": naive,
}


@pytest.mark.parametrize("schedule", list(SCHEDULES))
def test_the_widget_draws_all_of_its_corners(schedule: str) -> None:
    for stages, count in ((1, 1), (5, 3)):
        assert len(draw_schedule(stages, count, schedule, SCHEDULES).axes) == 2
        said = words(SCHEDULES)(stages, count, schedule)
        assert f"{fitting(schedule, stages, count)} microbatches" in said
    assert fitting(schedule, 4, 5) == (8 if schedule == INTERLEAVED else 5)


def test_figures_say_their_numbers(shown: Any) -> None:
    found = shown(pipeline_view, pipeline_steps)
    pipeline_view.show_schedules({"GPipe": played(gpipe, 2, 2)}, "a", "b")
    assert found[-1].figure.axes[0].get_title(loc="left") == "GPipe: 9 s, idle 33 %"
    pipeline_view.show_held({"GPipe": [8, 8]}, {"GPipe": [8e6, 9e6]})
    assert "GPipe 8, 8. Megabytes that autograd kept: GPipe 8.0, 9.0." in found[-1].alt
    rows = {"M1": [1.0, 1.2, 1.4], "M4": [1.6, 2.0, 3.0]}
    pipeline_view.show_speedups([2, 4, 8], rows, rows, rows | {"M1": [1.0, 1.0, 1.4]})
    assert "within 20 %" in found[-1].caption
    pipeline_steps.show_real_bubble({1: [0.5, 0.6]}, {1: 0.5}, 2)
    assert "the measured median and the formula in per cent: 1: 55 and 50." in found[-1].alt
    pipeline_steps.show_contenders({"one rank": 0.2, "ours, GPipe": 0.1})
    assert "one rank 200; ours, GPipe 100" in found[-1].alt
    assert found[-1].caption.endswith("one rank: ours, GPipe 2.00.")


def test_what_is_kept_is_counted_until_it_is_freed() -> None:
    layer = nn.Linear(4, 8)
    x = torch.ones(2, 4, requires_grad=True)
    with Kept(layer.parameters()) as kept:
        y = layer(x).tanh()
        # Its input, and tanh's output; the weight is there anyway.
        assert kept.now == 4 * (2 * 4 + 2 * 8)
        y.sum().backward()
    assert (kept.now, kept.peak) == (0, 4 * (2 * 4 + 2 * 8))


def test_gpipes_published_speedups_within_fifteen_per_cent() -> None:
    paper, ours = load("gpipe_table2_speedup").data, speedups(FITTED, gpipe)
    assert paper["devices"] == list(DEVICES)
    assert list(ours) == list(paper["transformer"])
    for row, values in ours.items():
        assert values == pytest.approx(paper["transformer"][row], rel=0.15), row
    # Microbatches are as large as memory or the batch allows.
    assert [samples(k, 1) for k in DEVICES] == [2, 4, 8]
    assert [samples(k, 32) for k in DEVICES] == [2, 2, 2]
